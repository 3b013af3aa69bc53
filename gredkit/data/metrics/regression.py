"""Metrics of numbers. Shape: outputs [items, targets], targets of as many numbers"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gredkit.registry import METRICS

if TYPE_CHECKING:
    from torch import Tensor

NUMBERS = ("regression",)


@METRICS.register("mae", label="MAE", larger_is_better=False, tasks=NUMBERS)
def mae(outputs: Tensor, targets: Tensor) -> float:
    """Mean absolute error: mean |output - target| over all items and targets."""
    output, target = _columns(outputs, targets)
    return float(np.abs(output - target).mean())


@METRICS.register("rmse", label="RMSE", larger_is_better=False, tasks=NUMBERS)
def rmse(outputs: Tensor, targets: Tensor) -> float:
    """Root mean squared error: sqrt(mean (output - target)²) of each target, averaged over the targets."""
    output, target = _columns(outputs, targets)
    return float(np.sqrt(np.square(output - target).mean(0)).mean())


@METRICS.register("r2", label="R²", larger_is_better=True, range=(0, 1), tasks=NUMBERS)
def r2(outputs: Tensor, targets: Tensor) -> float:
    """Coefficient of determination: 1 for perfect outputs, 0 for the mean of the targets.

    1 - Σ (target - output)² / Σ (target - mean)² of each target, averaged over the targets that vary; NaN if none does.
    """
    output, target = _columns(outputs, targets)
    varies = (target != target[:1]).any(0)
    if not varies.any():
        return float("nan")
    output, target = output[:, varies], target[:, varies]
    unexplained = np.square(target - output).sum(0) / np.square(target - target.mean(0)).sum(0)
    return float((1 - unexplained).mean())


def _columns(outputs: Tensor, targets: Tensor) -> tuple[np.ndarray, np.ndarray]:
    """Shape: [items, targets] each, float64"""
    return outputs.detach().double().cpu().numpy(), targets.view_as(outputs).double().cpu().numpy()
