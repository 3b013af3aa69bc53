"""A study: the grid of its axes, one trial a point and seed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import torch

import gin
from gredkit.config import build_model, configured
from gredkit.registry import DATASETS
from gredkit.training.fit import Result, fit


@dataclass(frozen=True)
class Trial:
    """One point of the grid: plain data."""

    variant: str
    bindings: tuple[str, ...]
    seed: int


@gin.register(module="gredkit")
def study(axes: Mapping[str, Sequence[Any]], seeds: Sequence[int] = (0, 1, 2)) -> list[Trial]:
    """All trials: every combination of the axes' values, for every seed. An axis is any gin binding."""
    return [
        Trial(
            variant=", ".join(map(str, point)),
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
    torch.manual_seed(seed)
    return gin.get_configurable("gredkit.fit")(build_model(task.spec), task, seed)


gin.register(fit, module="gredkit")
