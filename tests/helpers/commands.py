"""Run a command of the package as a real process.

Most of a command's time would be that of importing PyTorch. So commands are forked from a server that has imported what
they need, as `python -m` or `python -c` would start them: with a session, a folder, streams and an environment of their
own. What is `fresh` starts from nothing, as a user's command does.
"""

import functools
import multiprocessing
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from multiprocessing import forkserver
from multiprocessing.context import ForkServerContext
from pathlib import Path

import pytest

from gredkit.tracking.store import QUIET
from helpers.forked import become

ROOT = Path(__file__).parents[2]
NEEDED = [
    "helpers.forked",
    "gredkit.ablation.invocation",
    "gredkit.ablation.launchers.local",
    "gredkit.ablation.worker",
    "gredkit.ablation.launchers.forking.warm",
    "gredkit.ablation.summary",
    "mlflow.store.tracking.sqlalchemy_store",
    "mlflow.tracking",
    "pandas",
    "sklearn.metrics",
    "seaborn",
    "matplotlib.backends.backend_agg",
    "matplotlib.backends.backend_pdf",
    "matplotlib.backends.backend_svg",
    "fontTools.subset",
    "pyarrow.parquet",
]
OUTPUT = tempfile.TemporaryDirectory(prefix="gredkit-tests-")  # of all commands; removed when the tests end


@functools.cache
def server() -> ForkServerContext:
    """The server, which goes when this process ends."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(NEEDED)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(Path(__file__).parents[1]))
        for name, value in QUIET.items():  # MLflow reads it when it is imported
            patch.setenv(name, value)
        forkserver.ensure_running()
    return context


class Command:
    """`python -m MODULE ARGUMENTS` or `python -c CODE ARGUMENTS` in a folder, running.

    terminal: the path of one that it runs in
    """

    def __init__(
        self,
        arguments: Sequence[str],
        cwd: Path,
        environment: Mapping[str, str] | None = None,
        terminal: str | None = None,
    ):
        how, *others = arguments
        assert how in ("-m", "-c")
        self._output = Path(tempfile.mkdtemp(dir=OUTPUT.name))
        told = (how, others, str(cwd), dict(environment or os.environ), self._output, terminal)
        self._process = server().Process(target=become, args=told)
        self._process.start()
        assert self._process.pid is not None
        self.pid = self._process.pid

    @property
    def returncode(self) -> int | None:
        return self._process.exitcode

    def printed(self, stream: str = "stdout") -> str:
        """What it has written by now."""
        try:
            return (self._output / stream).read_text()
        except FileNotFoundError:  # it has just been started
            return ""

    def communicate(self, timeout: float | None = None) -> tuple[str, str]:
        """What it wrote until its end."""
        self._process.join(timeout)
        if self.returncode is None:
            self.kill()
            pytest.fail(f"it still ran after {timeout} seconds: {self.printed('stderr')}")
        return self.printed("stdout"), self.printed("stderr")

    def wait_for(self, said: str, seconds: float = 300) -> None:
        """Until it has said so."""
        until = time.monotonic() + seconds
        while said not in self.printed():
            assert self.returncode is None, self.printed("stderr")
            if time.monotonic() > until:
                self.kill()
                pytest.fail(f"it has not said {said!r} after {seconds} seconds")
            time.sleep(0.01)

    def kill(self) -> None:
        """With all that it started."""
        with suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        self._process.join()


def run(*arguments: str, cwd: Path = ROOT, fresh: bool = False) -> subprocess.CompletedProcess[str]:
    """`python ARGUMENTS` in a folder, with what it printed."""
    if arguments[0] in ("-m", "-c") and not fresh:
        command = Command(arguments, cwd)
        printed = command.communicate(timeout=600)
        assert command.returncode is not None
        return subprocess.CompletedProcess(arguments, command.returncode, *printed)
    return subprocess.run([sys.executable, *arguments], cwd=cwd, capture_output=True, text=True, timeout=600)


def fails_with_a_sentence(result: subprocess.CompletedProcess[str]) -> str:
    """The one line that a mistake of the user ends in, with exit code 2 and no traceback."""
    assert result.returncode == 2, result.stderr
    lines = result.stderr.strip().splitlines()
    assert len(lines) == 1, result.stderr
    assert lines[0].startswith("error: ")
    return lines[0]
