"""Results of studies that cross factors."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from helpers.known_results import results

THREE = {"variant.encoder": ("lru", "lstm", "mean"), "K": (2, 4), "models.gred.skip": (True, False)}
Score = Callable[[tuple[Any, ...], int], float]


def crossed(
    axes: Mapping[str, Sequence[Any]],
    score: Score,
    seeds: int = 5,
    lost: Collection[tuple[str, int]] = (),
    points: Iterable[tuple[Any, ...]] | None = None,
    dataset: str = "digits",
    **metrics: str,
) -> pd.DataFrame:
    """Every combination of the values, or the points; `lost` are variants and seeds that failed."""
    where = list(points or product(*axes.values()))
    labels = [", ".join(map(str, point)) for point in where]
    made: dict[tuple[str, str], Sequence[float | str]] = {
        (dataset, label): ["failed" if (label, seed) in lost else score(point, seed) for seed in range(seeds)]
        for label, point in zip(labels, where, strict=True)
    }
    frame = results(made, **metrics)
    place = frame["variant"].map({label: i for i, label in enumerate(labels)})
    for i, axis in enumerate(axes):
        frame[f"axis:{axis}"] = pd.Series([where[j][i] for j in place], dtype=object)
    return frame


def simulated(
    seeds: int = 5, noise: float = 0.02, lost: Collection[tuple[str, int]] = (), draw: int = 0
) -> pd.DataFrame:
    """A 3 x 2 x 2 study whose score is a sum of known effects, of a part of each seed, and of noise."""
    chance, noise = np.random.default_rng(draw), 0.02
    of_seeds = noise * chance.standard_normal(seeds)

    def score(point: tuple[Any, ...], seed: int) -> float:
        encoder, K, skip = point
        main = {"lru": 0.1, "lstm": 0.0, "mean": -0.1}[encoder] + (0.04 if K == 4 else -0.04)
        both = 0.03 * {"lru": 1, "lstm": -1, "mean": 0}[encoder] * (1 if K == 4 else -1)
        return 0.5 + main + both + (0.01 if skip else -0.01) + of_seeds[seed] + noise * chance.standard_normal()

    return crossed(THREE, score, seeds, lost)
