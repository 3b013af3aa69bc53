"""Metrics of how well outputs rank positive items above negative ones.

Each label is ranked by its own output. Classes are ranked one against the others, two classes by the second one.
Shape: outputs [items, labels or classes]; targets [items, labels] of 0, 1 or NaN (unknown), or classes [items]
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from gredkit.data.objectives import CLASSES, IGNORED
from gredkit.registry import METRICS

if TYPE_CHECKING:
    from torch import Tensor

RANKED = ("labels", *CLASSES)
Score = Callable[[np.ndarray, np.ndarray], float]  # of one label: the truth, and what it is ranked by


@METRICS.register("average_precision", label="average precision", larger_is_better=True, range=(0, 1), tasks=RANKED)
def average_precision(outputs: Tensor, targets: Tensor) -> float:
    """The precision at each recall, averaged over the labels that have both a positive and a negative item."""
    from sklearn.metrics import average_precision_score

    return _mean_over_labels(average_precision_score, outputs, targets)


@METRICS.register("roc_auc", label="ROC-AUC", larger_is_better=True, range=(0, 1), tasks=RANKED)
def roc_auc(outputs: Tensor, targets: Tensor) -> float:
    """How often a positive item ranks above a negative one, averaged over the labels that have both."""
    from sklearn.metrics import roc_auc_score

    return _mean_over_labels(roc_auc_score, outputs, targets)


def _mean_over_labels(score: Score, outputs: Tensor, targets: Tensor) -> float:
    """NaN if no label has both a positive and a negative item."""
    ranked_by, truth = _labels(outputs, targets) if targets.is_floating_point() else _classes(outputs, targets)
    by_label = []
    for label in range(truth.shape[1]):
        known = ~np.isnan(truth[:, label])
        if len(np.unique(truth[known, label])) == 2:
            by_label.append(score(truth[known, label], ranked_by[known, label]))
    return float(np.mean(by_label)) if by_label else float("nan")


def _labels(outputs: Tensor, targets: Tensor) -> tuple[np.ndarray, np.ndarray]:
    return outputs.detach().float().cpu().numpy(), targets.view_as(outputs).cpu().numpy()


def _classes(outputs: Tensor, targets: Tensor) -> tuple[np.ndarray, np.ndarray]:
    """The log-odds of each class against all others, and which one is right, of the items that are asked."""
    targets = targets.view(-1)
    asked = targets != IGNORED
    logits, right = outputs.detach()[asked].double().cpu().numpy(), targets[asked].cpu().numpy()
    classes = range(logits.shape[1])
    odds = np.stack([logits[:, c] - np.logaddexp.reduce(np.delete(logits, c, 1), 1) for c in classes], 1)
    truth = (right[:, None] == np.arange(logits.shape[1])).astype(float)
    return (odds[:, 1:], truth[:, 1:]) if logits.shape[1] == 2 else (odds, truth)
