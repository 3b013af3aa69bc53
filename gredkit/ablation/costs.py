"""What a plan will cost: how long it takes on so many workers, at best, and how many hours of cores and GPUs."""

import heapq
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from gredkit.ablation.launchers.base import Needs
from gredkit.ablation.rounds import Round
from gredkit.trials.trial import Trial


@dataclass(frozen=True)
class Cost:
    """Of the rounds of a plan; all times are in seconds.

    span: from the first to the last trial, if each starts as soon as a worker is free and its round has begun
    path: the same with as many workers as trials, which no number of workers is faster than: the longest trial of each
        round, one after another
    cores, gpus: seconds of a core or a GPU
    """

    span: float = 0.0
    path: float = 0.0
    cores: float = 0.0
    gpus: float = 0.0

    @classmethod
    def of(
        cls, rounds: Iterable[Round], jobs: int, seconds: Callable[[Trial], float], needs: Callable[[Trial], Needs]
    ) -> "Cost":
        found = cls()
        for one in rounds:
            times = [seconds(trial) for trial in one.trials]
            given = [needs(trial) for trial in one.trials]
            found += cls(
                span(times, jobs),
                max(times, default=0.0),
                sum(time * one.cores for time, one in zip(times, given, strict=True)),
                sum(time * one.gpus for time, one in zip(times, given, strict=True)),
            )
        return found

    def __add__(self, after: "Cost") -> "Cost":
        """Of this, and of what begins when it has ended."""
        return Cost(self.span + after.span, self.path + after.path, self.cores + after.cores, self.gpus + after.gpus)


def span(times: Sequence[float], workers: int) -> float:
    """When the last of some trials ends, if each starts, in this order, as soon as a worker is free."""
    free = [0.0] * min(workers, max(len(times), 1))
    for time in times:
        heapq.heapreplace(free, free[0] + time)
    return max(free)
