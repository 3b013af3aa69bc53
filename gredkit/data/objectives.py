"""What a model is trained to do: a kind of task, the loss that is minimised and the metric that is reported.

Nothing here needs PyTorch, so a report can read the labels of metrics without importing it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from gredkit import ranges
from gredkit.errors import UserError
from gredkit.registry import LOSSES, METRICS, ObjectiveRegistry

if TYPE_CHECKING:
    from torch import Tensor

IGNORED = -100  # the class of a node that is not asked

# Each kind of task with its usual loss and metric. The kind says what targets and outputs mean: numbers, one of
# several classes, or several labels that are 0, 1 or unknown (NaN).
KINDS = {
    "regression": ("l1", "mae"),
    "classification": ("cross_entropy", "accuracy"),
    "balanced_classification": ("balanced_cross_entropy", "class_mean_accuracy"),
    "labels": ("binary_cross_entropy", "average_precision"),
}
CLASSES = ("classification", "balanced_classification")  # the kinds whose target is one class


@dataclass(frozen=True)
class Loss:
    """What training minimises. Shape: outputs [items, outputs], targets as the task has them -> a scalar"""

    name: str
    function: Callable[[Tensor, Tensor], Tensor]

    def __call__(self, outputs: Tensor, targets: Tensor) -> Tensor:
        return self.function(outputs, targets)


@dataclass(frozen=True)
class Metric:
    """A score of outputs against targets, and whether a larger one is better."""

    name: str
    score: Callable[[Tensor, Tensor], float]
    larger_is_better: bool

    def is_better(self, score: float, than: float) -> bool:
        return score > than if self.larger_is_better else score < than


@dataclass(frozen=True)
class Objective:
    """What is minimised and what is reported. Any function of outputs and targets can be the loss."""

    loss: Callable[[Tensor, Tensor], Tensor]
    metric: Metric
    kind: str = "regression"  # one of KINDS

    @property
    def loss_name(self) -> str:
        """The name in the registry, or that of a function which is not registered."""
        return (
            self.loss.name if isinstance(self.loss, Loss) else getattr(self.loss, "__name__", type(self.loss).__name__)
        )


def objective(task: str, metric: str | None = None, loss: str | None = None) -> Objective:
    """A kind of task with its usual loss and metric, or with others from the registries."""
    ranges.one_of("task", task, KINDS)
    usual_loss, usual_metric = KINDS[task]
    return Objective(loss_for(task, loss or usual_loss), metric_for(task, metric or usual_metric), task)


def loss_for(kind: str, name: str, **settings: Any) -> Loss:
    """A registered loss with its hyper-parameters; one that does not fit the kind of the task is a `UserError`."""
    return Loss(name, _made(LOSSES, kind, name, settings))


def metric_for(kind: str, name: str, **settings: Any) -> Metric:
    """A registered metric with its hyper-parameters; one that does not fit the kind of the task is a `UserError`."""
    return Metric(name, _made(METRICS, kind, name, settings), METRICS.larger_is_better(name))


def _made(registry: ObjectiveRegistry, kind: str, name: str, settings: dict[str, Any]) -> Callable[..., Any]:
    """A class becomes an object that can be called; a function is called with its settings."""
    component = registry[name]  # an unknown name raises with the nearest matches
    if not registry.fits(name, kind):
        fitting = ", ".join(other for other in registry if registry.fits(other, kind))
        raise UserError(f"the {registry.kind} {name!r} does not fit a task of {kind}: choose from {fitting}")
    made: Any = component(**settings) if inspect.isclass(component) else partial(component, **settings)
    return made
