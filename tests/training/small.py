"""A small task and a small model, for tests of training."""

from dataclasses import replace

import torch
from torch import nn

from gredkit import GRED
from gredkit.data.datasets.ring_transfer import ring_transfer
from gredkit.data.hops.cache import prepare
from gredkit.data.objectives import Metric
from gredkit.data.task import Task
from gredkit.nn.models.base import Component, needs_of
from gredkit.training.fit import Result, fit
from gredkit.training.recipe import Recipe


def small_task(graphs: int = 60) -> Task:
    return ring_transfer(distance=2, symbols=3, graphs=graphs)


def small_model(task: Task, dropout: float = 0.0, positional: Component = "none", encoder: Component = "lru") -> GRED:
    torch.manual_seed(0)
    return GRED(task.spec, dim=16, layers=1, dropout=dropout, positional=positional, encoder=encoder)


def train(model: nn.Module, task: Task, seed: int = 0, recipe: Recipe | None = None, **how) -> Result:
    """`fit` on graphs that are prepared for the model; what is not an argument of it goes into the recipe."""
    own = {name: how.pop(name) for name in ("checkpoint", "on_epoch", "should_stop") if name in how}
    recipe = recipe or Recipe(**{"epochs": 4, "batch_size": 8, "checkpoint_seconds": 0, **how})
    return fit(model, task, prepare(task.graphs, needs_of(model, None), progress=False), recipe, seed, **own)


def with_metric(task: Task, score, larger_is_better: bool = True) -> Task:
    return replace(task, objective=replace(task.objective, metric=Metric("made up", score, larger_is_better)))


def with_scores(task: Task, *scores: float, then: float = 0.5, larger_is_better: bool = True) -> Task:
    """A metric that gives these scores, one per call, whatever the outputs."""
    given = iter(scores)
    return with_metric(task, lambda *_: next(given, then), larger_is_better)


def but_seconds(result: Result) -> str:
    """All of a result that is the same when it is run again; as text, in which NaN is NaN."""
    return repr(replace(result, seconds=0.0))


def weights(model: nn.Module) -> dict[str, torch.Tensor]:
    return {name: tensor.clone() for name, tensor in model.state_dict().items()}


def same_bits(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> bool:
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)
