"""Metrics of distances. Shape: outputs [items, targets], targets of as many numbers"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gredkit import ranges
from gredkit.data.metrics.regression import NUMBERS, mae
from gredkit.registry import METRICS

if TYPE_CHECKING:
    from torch import Tensor


@METRICS.register("mae_in_hops", label="MAE in hops", larger_is_better=False, tasks=NUMBERS)
class MAEInHops:
    """Mean absolute error of distances that were divided by `scale`: scale * mean |output - target|.

    scale: the number of hops that a target of 1 stands for
    """

    def __init__(self, scale: float = 40.0):
        ranges.positive("metrics.mae_in_hops.scale", scale)
        self.scale = scale

    def __call__(self, outputs: Tensor, targets: Tensor) -> float:
        return self.scale * mae(outputs, targets)
