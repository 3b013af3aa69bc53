"""A study: the grid of its axes, one trial a point and seed."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import gin
import torch

from gredkit.config import build_model, configured
from gredkit.registry import DATASETS
from gredkit.training.fit import Result, fit

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Trial:
    """One point of the grid: plain data."""

    variant: str
    bindings: tuple[str, ...]
    seed: int


@gin.register(module="gredkit")
def study(axes: Mapping[str, Sequence[Any]] | None = None, seeds: Sequence[int] = (0, 1, 2)) -> list[Trial]:
    """All trials: every combination of the axes' values, for every seed. An axis is any gin binding."""
    axes = axes or {}
    return [
        Trial(
            variant=", ".join(map(str, point)) or "base",
            bindings=tuple(f"{axis} = {value!r}" for axis, value in zip(axes, point, strict=True)),
            seed=seed,
        )
        for point in product(*axes.values())
        for seed in seeds
    ]


@gin.register(module="gredkit")
def run_trial(seed: int, dataset: str = "ring_transfer") -> Result:
    """Build the variant that gin describes and train it on the dataset."""
    task = configured(DATASETS, dataset)()
    for name, note in task.notes.items():
        log.info("%s, %s: %s", dataset, name, note)
    torch.manual_seed(seed)
    return gin.get_configurable("gredkit.fit")(build_model(task.spec), task, seed)


gin.register(fit, module="gredkit")
