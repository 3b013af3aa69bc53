from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from gredkit.registry import LAUNCHERS

T = TypeVar("T")
R = TypeVar("R")


@LAUNCHERS.register("local")
def local(trials: Iterable[T], run: Callable[[T], R]) -> Iterator[R]:
    """One trial after another, in this process."""
    return map(run, trials)
