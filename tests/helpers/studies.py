"""A tiny study as a real process, and what MLflow has of it afterwards."""

import functools
import os
import signal
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from subprocess import CompletedProcess

import psutil
import pytest

from gredkit.tracking.store import connect
from gredkit.tracking.tracker import Known, Tracker
from helpers.commands import Command

STUDY = """
study.axes = {'variant.encoder': %ENCODERS}
ENCODERS = ('lru', 'mean')
SEEDS = (0, 1)
EPOCHS = 3
LAYERS = 1
DIM = 8
DROPOUT = 0.1
fit.checkpoint_seconds = 0.0
datasets.ring_transfer.distance = 2
datasets.ring_transfer.graphs = 40
"""
TRIALS = 4
CACHED = Path(__file__).parents[2] / ".pytest_cache" / "stores"
LONG = ("--set", "EPOCHS=40")
LONG_HALF = (*LONG, "--set", "ENCODERS=('lru',)")  # two of the four trials
WITHOUT_AXES = "".join(line for line in STUDY.splitlines(keepends=True) if "ENCODERS" not in line)


@functools.cache
def empty_store() -> bytes:
    """A store whose tables MLflow has made, which takes it some seconds: it is kept for the next session."""
    kept = CACHED / f"mlflow-{version('mlflow')}.db"
    if not kept.exists():
        kept.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=kept.parent) as folder:
            connect(f"sqlite:///{folder}/mlflow.db")
            Path(folder, "mlflow.db").rename(kept)
    return kept.read_bytes()


class TinyStudy:
    """The study in a folder of its own, with an empty store; its report is drawn where a test is about that."""

    def __init__(
        self, folder: Path, text: str = STUDY, *, has_store: bool = True, reports: bool = False, name: str = "tiny"
    ):
        self.folder, self.reports, self.name = folder, reports, name
        self.uri = f"sqlite:///{folder / 'mlflow.db'}"  # where its runs are looked for
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{name}.gin").write_text(text)
        if has_store:
            (folder / "mlflow.db").write_bytes(empty_store())

    def start(self, *arguments: str) -> Command:
        """In the background."""
        no_report = [] if self.reports else ["--no-report"]
        return Command(["-m", "gredkit.run", "--gin", f"{self.name}.gin", *no_report, *arguments], self.folder)

    def run(self, *arguments: str) -> CompletedProcess[str]:
        """To its end."""
        command = self.start(*arguments)
        printed = command.communicate(timeout=300)
        return CompletedProcess(arguments, command.returncode or 0, *printed)

    def events(self) -> list[str]:
        """All lines that the trials have written by now."""
        return [line for path in self.folder.glob(".gredkit/*/*/events.jsonl") for line in _read(path).splitlines()]

    def wait_for(self, process: Command, holds: Callable[[], bool], seconds: float = 300) -> None:
        """Until something is so, while the process lives."""
        until = time.monotonic() + seconds
        while not holds():
            assert process.returncode is None, process.printed("stderr")
            if time.monotonic() > until:
                process.kill()
                pytest.fail(f"it has not come so far after {seconds} seconds")
            time.sleep(0.01)

    def wait_for_epochs(self, process: Command, count: int) -> None:
        self.wait_for(process, lambda: sum('"epoch"' in line for line in self.events()) >= count)

    def tracker(self) -> Tracker:
        return Tracker(self.name, self.uri)

    def trials(self) -> dict[str, Known]:
        return self.tracker().trials()

    def scores(self) -> dict[str, tuple[float, ...]]:
        """By finished trial, what must not depend on how often it was interrupted."""
        names = ("best/test", "best/test_loss", "best/validation", "best/epoch", "final/train_loss")
        finished = {name: known for name, known in self.trials().items() if known.state == "finished"}
        return {name: tuple(known.metrics[key] for key in names) for name, known in finished.items()}

    def statuses(self) -> set[str]:
        return {run.info.status for run in self.tracker().search()}


def assert_same_scores(study: TinyStudy, other: TinyStudy, trials: int = TRIALS) -> None:
    """All trials of a study have finished with the scores that they have in the other one."""
    found, expected = study.scores(), other.scores()
    assert len(found) == trials
    assert found == {name: expected[name] for name in found}


def interrupt(process: Command) -> None:
    """Ctrl-C: the whole group gets the signal."""
    os.killpg(process.pid, signal.SIGINT)


def fork_servers(process: Command) -> list[psutil.Process]:
    """What trials of a command are forked from."""
    with suppress(psutil.Error):
        children = psutil.Process(process.pid).children()
        return [child for child in children if any("forkserver" in word for word in child.cmdline())]
    return []


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except FileNotFoundError:  # the trial has just ended, and MLflow has it
        return ""
