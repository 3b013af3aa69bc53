"""Time several implementations of the same thing against each other."""

import gc
import os
import platform
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from statistics import median, quantiles
from time import perf_counter
from typing import Any

import torch

from gredkit.nn.kernels.build import library

PACKAGES = ("torch", "torch-geometric", "torch-scatter", "numpy", "scipy", "numba", "gredkit")


@dataclass(frozen=True)
class Timing:
    """The seconds that each repeat took."""

    seconds: tuple[float, ...]

    @property
    def median(self) -> float:
        return median(self.seconds)

    @property
    def quartiles(self) -> tuple[float, float]:
        """The lower and the upper quartile: half of the repeats are between them."""
        if len(self.seconds) == 1:
            return self.seconds[0], self.seconds[0]
        low, _, high = quantiles(self.seconds, n=4, method="inclusive")
        return low, high

    def per(self, items: int) -> "Timing":
        """The time per item, if each repeat processed `items` items."""
        return Timing(tuple(s / items for s in self.seconds))


def interleave(contestants: Mapping[str, Callable[[], object]], repeats: int, warmup: int = 1) -> dict[str, Timing]:
    """Time the contestants in turns, so that other load on the machine affects all of them equally.

    Every second round runs them in the opposite order. The warm-up rounds, which compile and allocate, do not
    count.
    """
    seconds: dict[str, list[float]] = {name: [] for name in contestants}
    collecting = gc.isenabled()
    gc.disable()
    try:
        for turn in range(-warmup, repeats):
            for name in list(contestants)[:: 1 if turn % 2 else -1]:
                begin = perf_counter()
                contestants[name]()
                if turn >= 0:
                    seconds[name].append(perf_counter() - begin)
            gc.collect()
    finally:
        if collecting:
            gc.enable()
    return {name: Timing(tuple(times)) for name, times in seconds.items()}


def milliseconds(timing: Timing, unit: str = "ms") -> dict[str, Any]:
    """A timing for the JSON file: median and quartiles in milliseconds, and the number of repeats."""
    return {
        unit: 1e3 * timing.median,
        "quartiles": [1e3 * s for s in timing.quartiles],
        "repeats": len(timing.seconds),
    }


def show(result: Mapping[str, Any], unit: str = "ms") -> str:
    """Median and quartiles for a table."""
    low, high = result["quartiles"]
    return f"{digits(result[unit])} ({digits(low)} to {digits(high)})"


def digits(number: float) -> str:
    """Three significant digits, without an exponent."""
    return f"{number:.0f}" if number >= 100 else f"{number:#.3g}"


def environment() -> dict[str, Any]:
    """The machine and the packages on which the numbers depend."""
    return {
        "python": platform.python_version(),
        "machine": platform.machine(),
        "cpus": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "kernels": library() is not None,
        "load_average": list(os.getloadavg()),
        "packages": {name: found for name in PACKAGES if (found := _version(name))},
    }


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
