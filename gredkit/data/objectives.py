"""Losses to train by and metrics to choose and report by."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from gredkit import ranges

IGNORED = -100  # the label of a node that is not asked


@dataclass(frozen=True)
class Metric:
    """A score of outputs against targets."""

    name: str
    score: Callable[[Tensor, Tensor], float]
    larger_is_better: bool

    def is_better(self, score: float, than: float) -> bool:
        return score > than if self.larger_is_better else score < than


@dataclass(frozen=True)
class Objective:
    """What is minimised and what is reported. Shape: outputs [items, outputs], targets as the task has them"""

    loss: Callable[[Tensor, Tensor], Tensor]
    metric: Metric
    kind: str = "regression"  # one of LOSSES: what the outputs mean; numbers, unless said otherwise


def objective(task: str, metric: str | None = None) -> Objective:
    """The loss of a kind of task, with its usual metric or another one."""
    ranges.one_of("task", task, LOSSES)
    loss, usual = LOSSES[task]
    name = metric or usual
    ranges.one_of("metric", name, METRICS)
    return Objective(loss, METRICS[name], task)


def mean_absolute_loss(outputs: Tensor, targets: Tensor) -> Tensor:
    return F.l1_loss(outputs, targets.view_as(outputs))


def label_loss(outputs: Tensor, targets: Tensor) -> Tensor:
    """Binary cross-entropy of several labels; a label that is not known (NaN) is left out."""
    targets = targets.view_as(outputs)
    known = ~targets.isnan()
    loss = F.binary_cross_entropy_with_logits(outputs, targets.nan_to_num(), reduction="none")
    return (loss * known).sum() / known.sum().clamp(min=1)


def cross_entropy(outputs: Tensor, targets: Tensor, weight: Tensor | None = None) -> Tensor:
    """Cross-entropy over what is asked; zero, not NaN, where nothing is."""
    total = F.cross_entropy(outputs, targets, weight=weight, reduction="sum", ignore_index=IGNORED)
    asked = targets != IGNORED
    each = asked.to(outputs.dtype) if weight is None else weight[targets.clamp(min=0)] * asked
    return total / each.sum().clamp(min=1e-12)


def balanced_cross_entropy(outputs: Tensor, targets: Tensor) -> Tensor:
    """Cross-entropy in which rare classes of the batch weigh more, as the SBM benchmarks train."""
    asked = (targets != IGNORED).to(outputs.dtype)
    count = outputs.new_zeros(outputs.shape[1]).index_add(0, targets.clamp(min=0), asked)
    weight = torch.where(count == count.sum(), 1.0, (count.sum() - count) / count.sum().clamp(min=1))
    return cross_entropy(outputs, targets, weight)


def accuracy(outputs: Tensor, targets: Tensor) -> float:
    from sklearn.metrics import accuracy_score

    guess, truth = _answers(outputs, targets)
    return float(accuracy_score(truth, guess))


def class_mean_accuracy(outputs: Tensor, targets: Tensor) -> float:
    """The accuracy of each class, averaged over the classes that occur."""
    from sklearn.metrics import recall_score

    guess, truth = _answers(outputs, targets)
    return float(recall_score(truth, guess, labels=np.unique(truth), average="macro", zero_division=0))


def macro_f1(outputs: Tensor, targets: Tensor) -> float:
    """The F1 score of each class, averaged over the classes that occur or are guessed."""
    from sklearn.metrics import f1_score

    guess, truth = _answers(outputs, targets)
    return float(f1_score(truth, guess, average="macro", zero_division=0))


def average_precision(outputs: Tensor, targets: Tensor) -> float:
    """Averaged over the labels that have both a positive and a negative example."""
    from sklearn.metrics import average_precision_score

    truth, score = targets.view_as(outputs).cpu().numpy(), outputs.detach().float().cpu().numpy()
    by_label = []
    for label in range(truth.shape[1]):
        known = ~np.isnan(truth[:, label])
        if len(np.unique(truth[known, label])) == 2:
            by_label.append(average_precision_score(truth[known, label], score[known, label]))
    return float(np.mean(by_label)) if by_label else float("nan")


def mean_absolute_error(outputs: Tensor, targets: Tensor) -> float:
    from sklearn.metrics import mean_absolute_error as error

    return float(error(targets.view_as(outputs).cpu().numpy(), outputs.detach().float().cpu().numpy()))


def _answers(outputs: Tensor, targets: Tensor) -> tuple[np.ndarray, np.ndarray]:
    targets = targets.view(-1)
    asked = targets != IGNORED
    return outputs.argmax(1)[asked].cpu().numpy(), targets[asked].cpu().numpy()


METRICS = {
    "mae": Metric("mae", mean_absolute_error, larger_is_better=False),
    "accuracy": Metric("accuracy", accuracy, larger_is_better=True),
    "class_mean_accuracy": Metric("class_mean_accuracy", class_mean_accuracy, larger_is_better=True),
    "macro_f1": Metric("macro_f1", macro_f1, larger_is_better=True),
    "average_precision": Metric("average_precision", average_precision, larger_is_better=True),
}
LOSSES: dict[str, tuple[Callable[..., Tensor], str]] = {
    "regression": (mean_absolute_loss, "mae"),
    "classification": (cross_entropy, "accuracy"),
    "balanced_classification": (balanced_cross_entropy, "class_mean_accuracy"),
    "labels": (label_loss, "average_precision"),
}
