"""How small is a difference that does not matter? The margin of equivalence of each metric.

By default it is 1 % of the metric's range, which is 0.01 for accuracy, and 1 % of the base's mean for metrics without
a range, such as MAE. `study.margin` sets another one.
"""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from gredkit.registry import METRICS

SHARE = 0.01  # of the range, or of the base's mean


class _Ranges(Mapping[str, float]):
    """The width of the range of each registered metric that has one."""

    def __getitem__(self, metric: str) -> float:
        limits = METRICS.range(metric)
        if limits is None:
            raise KeyError(metric)
        return limits[1] - limits[0]

    def __iter__(self) -> Iterator[str]:
        return (metric for metric in METRICS if METRICS.range(metric) is not None)

    def __len__(self) -> int:
        return sum(1 for _ in self)


RANGES = _Ranges()


def margin_of(metric: str, asked: float | None, base: Sequence[float]) -> float:
    """The margin of a comparison.

    asked: what the study sets
    base: the scores of the base at the first look, so that later ones cannot move the margin
    """
    if asked is not None:
        return asked
    if metric in RANGES:
        return SHARE * RANGES[metric]
    return SHARE * abs(float(np.mean(base))) if len(base) else float("nan")
