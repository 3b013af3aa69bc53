"""Metrics of classes. Shape: outputs [items, classes], targets [items], which may be IGNORED"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gredkit.data.objectives import CLASSES, IGNORED
from gredkit.registry import METRICS

if TYPE_CHECKING:
    from torch import Tensor


@METRICS.register("accuracy", label="accuracy", larger_is_better=True, range=(0, 1), tasks=CLASSES)
def accuracy(outputs: Tensor, targets: Tensor) -> float:
    """The share of items whose class is right."""
    from sklearn.metrics import accuracy_score

    guess, truth = _answers(outputs, targets)
    return float(accuracy_score(truth, guess)) if len(truth) else float("nan")


@METRICS.register(
    "class_mean_accuracy", label="class-mean accuracy", larger_is_better=True, range=(0, 1), tasks=CLASSES
)
def class_mean_accuracy(outputs: Tensor, targets: Tensor) -> float:
    """The accuracy of each class, averaged over the classes that occur."""
    from sklearn.metrics import recall_score

    guess, truth = _answers(outputs, targets)
    if not len(truth):
        return float("nan")
    return float(recall_score(truth, guess, labels=np.unique(truth), average="macro", zero_division=0))


@METRICS.register("macro_f1", label="macro F1", larger_is_better=True, range=(0, 1), tasks=CLASSES)
def macro_f1(outputs: Tensor, targets: Tensor) -> float:
    """The F1 score of each class, averaged over the classes that occur or are guessed."""
    from sklearn.metrics import f1_score

    guess, truth = _answers(outputs, targets)
    return float(f1_score(truth, guess, average="macro", zero_division=0)) if len(truth) else float("nan")


def _answers(outputs: Tensor, targets: Tensor) -> tuple[np.ndarray, np.ndarray]:
    """The classes that were guessed and the right ones, of the items that are asked."""
    targets = targets.view(-1)
    asked = targets != IGNORED
    return outputs.argmax(1)[asked].cpu().numpy(), targets[asked].cpu().numpy()
