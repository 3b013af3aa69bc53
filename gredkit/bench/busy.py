"""A training step beside one busy process, and beside as many as there are cores, compared with the same step alone."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from time import perf_counter, sleep
from typing import Any

import joblib
import torch
from rich.table import Table

from gredkit.bench.measure import Timing, milliseconds, show
from gredkit.bench.settings import chosen
from gredkit.bench.training import OURS, Step, steps

SETTING = "zinc"  # many short steps of work: where waiting for other threads costs most
TURNS, SECONDS = 6, 3.0  # how often alone and beside others, and how long each time
BUSY = "import os\nparent = os.getppid()\nwhile os.getppid() == parent:\n    sum(range(10**6))"  # ends with its parent
SETTLING = 0.2  # seconds until the busy processes have started


def run(quick: bool = False) -> dict[str, Any]:
    """Alone and beside busy processes in turns; what a turn took is the mean of its steps."""
    setting = chosen(SETTING, quick)
    turn = partial(_turn, steps(setting, OURS, setting.graphs(setting.batch)), 0.0 if quick else SECONDS)
    cores = joblib.cpu_count()
    turn()  # compiles and allocates
    taken: dict[int, list[float]] = {0: [], 1: [], cores: []}  # by the number of busy processes
    for _ in range(1 if quick else TURNS):
        for count, seconds in taken.items():
            with busy(count):
                seconds.append(turn())
    times = {count: Timing(tuple(seconds)) for count, seconds in taken.items()}
    return {
        "slowdown": times[cores].median / times[0].median,
        "slowdown_beside_one": times[1].median / times[0].median,
        "processes": cores,
        "threads": torch.get_num_threads(),
        "graphs": setting.source,
        "beside": {str(count): milliseconds(timing) for count, timing in times.items()},
    }


@contextmanager
def busy(count: int) -> Iterator[None]:
    """`count` processes that compute all the time."""
    others: list[subprocess.Popen[bytes]] = []
    try:
        others.extend(subprocess.Popen([sys.executable, "-S", "-c", BUSY]) for _ in range(count))
        sleep(SETTLING)
        yield
    finally:
        for one in others:
            one.kill()
        for one in others:
            one.wait()


def _turn(taken: list[Step], seconds: float) -> float:
    """The mean time of a step over at least so many seconds."""
    begin, count = perf_counter(), 0
    while not count or perf_counter() < begin + seconds:
        for step in taken:
            step()
        count += len(taken)
    return (perf_counter() - begin) / count


def table(result: dict[str, Any]) -> Table:
    """One row per number of busy processes."""
    title = f"a training step beside busy processes: {SETTING}, {result['graphs']}, {result['threads']} threads"
    shown = Table(title=title, title_justify="left", title_style="bold")
    for column in ("busy processes", "ms: median (quartiles) of turns", "takes"):
        shown.add_column(column, justify="right")
    alone = result["beside"]["0"]["ms"]
    for count, row in result["beside"].items():
        shown.add_row(count, show(row), f"{row['ms'] / alone:.2f} x")
    return shown
