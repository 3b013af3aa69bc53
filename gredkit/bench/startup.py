"""How long it takes until training starts: imports, and the time from the start of a process to its first step."""

import multiprocessing
import os
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from rich.table import Table
from torch.optim.optimizer import register_optimizer_step_post_hook

from gredkit.ablation.launchers.forking import server
from gredkit.ablation.plan import make_plan
from gredkit.ablation.worker import train
from gredkit.bench.measure import Timing, digits, interleave, milliseconds, show
from gredkit.config.source import Source
from gredkit.trials.folder import TrialFolder

COMMAND, REPORT, TRIAL = "python -m gredkit.run", "python -m gredkit.report", "the process of a trial"
IMPORTS = {  # title: module to import
    "nothing": "", "torch": "torch", "torch_geometric": "torch_geometric", "mlflow": "mlflow",
    REPORT: "gredkit.report", TRIAL: "gredkit.ablation.worker", COMMAND: "gredkit.ablation.invocation",
}  # fmt: skip
TRIALS = ("ring_transfer", "digits", "molecules")
HEAVIEST = 12  # number of packages listed
REPEATS = 3


class FirstStep(BaseException):
    """The optimiser has taken its first step; the measurement ends."""


def run(quick: bool = False) -> dict[str, Any]:
    """Measure imports in new processes, then trials with cached graphs, started like in the local launcher."""
    imports, trials = (("nothing",), TRIALS[:1]) if quick else (tuple(IMPORTS), TRIALS)
    repeats, warmup = (1, 0) if quick else (REPEATS, 1)
    timings = interleave({name: partial(_import, IMPORTS[name]) for name in imports}, repeats, warmup)
    with _cache():
        return {
            "imports": {name: milliseconds(timing) for name, timing in timings.items()},
            "packages_ms": by_package(_import_times("numpy" if quick else IMPORTS[COMMAND])),
            "first_step": {name: _trial(name, repeats, warmup) for name in trials},
        }


def _import(module: str, *options: str) -> str:
    """Import a module in a new process; returns what Python printed to stderr."""
    code = f"import {module}" if module else ""
    return subprocess.run([sys.executable, *options, "-c", code], check=True, capture_output=True, text=True).stderr


def _import_times(module: str) -> Iterator[tuple[str, float]]:
    """Every module that is imported by another one, and the milliseconds it takes without its own imports."""
    for line in _import(module, "-X", "importtime").splitlines():
        own, _, name = line.removeprefix("import time:").split("|") if line.count("|") == 2 else ("", "", "")
        if own.strip().isdigit():
            yield name.strip(), int(own) / 1e3


def by_package(times: Iterator[tuple[str, float]]) -> dict[str, float]:
    """The packages whose modules take the longest to import."""
    total: dict[str, float] = defaultdict(float)
    for name, ms in times:
        total[name.split(".")[0]] += ms
    return dict(sorted(total.items(), key=lambda one: -one[1])[:HEAVIEST])


@contextmanager
def _cache() -> Iterator[None]:
    """An empty cache of hop indices for the processes that are started inside this context."""
    before = os.environ.get("GREDKIT_CACHE")
    with TemporaryDirectory() as folder:
        os.environ["GREDKIT_CACHE"] = folder
        try:
            yield
        finally:
            del os.environ["GREDKIT_CACHE"]
            if before is not None:
                os.environ["GREDKIT_CACHE"] = before


def _trial(name: str, repeats: int, warmup: int) -> dict[str, Any]:
    """Time from the start of a process to the end of its first step: forked from the server, and new."""
    trial = make_plan(Source((f"gin/models/{name}.gin", "gin/budgets/smoke.gin"))).trials[0]
    seconds: dict[str, list[float]] = {"forked": [], "fresh": []}
    for turn in range(-warmup, repeats):  # the first turn fills the cache
        for how, times in seconds.items():
            with TemporaryDirectory() as folder:
                TrialFolder(Path(folder) / "trial").create(trial)
                taken = _first_step(Path(folder) / "trial", how)
            if turn >= 0:
                times.append(taken)
    return {how: milliseconds(Timing(tuple(times))) for how, times in seconds.items()}


def _first_step(folder: Path, how: str) -> float:
    if how == "forked":
        server.start()
    context = server.context() if how == "forked" else multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    begin = time.time()  # the same clock in both processes
    arguments = (folder, theirs, os.environ["GREDKIT_CACHE"])
    process = context.Process(target=_until_first_step, args=arguments)  # type: ignore[attr-defined]
    process.start()
    theirs.close()
    ended = ours.recv()
    process.join()
    return ended - begin


def _until_first_step(folder: Path, line: Any, cache: str) -> None:
    """Do what the process of a trial does, until the optimiser has taken a step."""
    os.environ["GREDKIT_CACHE"] = cache  # the server may be older than the folder

    def stop(*_: object) -> None:
        line.send(time.time())
        raise FirstStep

    register_optimizer_step_post_hook(stop)
    try:
        train(TrialFolder(folder), lambda: False)
    except FirstStep:
        return


def table(result: dict[str, Any]) -> Table:
    """Imports, then the packages that take the longest, then trials."""
    shown = Table(title="until training starts, ms: median (quartiles)", title_justify="left", title_style="bold")
    shown.add_column("what", justify="left")
    shown.add_column("ms", justify="right")
    for name, row in result["imports"].items():
        shown.add_row(f"a process that imports: {name}", show(row))
    shown.add_section()
    for name, ms in result["packages_ms"].items():
        shown.add_row(f"of {COMMAND}: only the modules of {name}", digits(ms))
    shown.add_section()
    for name, row in result["first_step"].items():
        shown.add_row(
            f"{name}, cached: process forked from the launcher's server, to its first step", show(row["forked"])
        )
        shown.add_row(f"{name}, cached: new process, to its first step", show(row["fresh"]))
    return shown
