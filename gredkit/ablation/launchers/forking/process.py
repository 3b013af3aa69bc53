"""The process of a trial: forked from the server, asked to stop by a message, dead when its connection is closed.

This module does not import PyTorch: who only watches such a process does without it.
"""

import os
import signal
import sys
import threading
from collections.abc import Mapping
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path

import psutil

from gredkit.ablation.launchers.base import Job, Lost
from gredkit.ablation.launchers.forking import server
from gredkit.trials.state import TrialState

UNKNOWN = (None, 255)  # exit codes that Python reports for a process whose server was killed
FROM_OUTSIDE = (-signal.SIGKILL, -signal.SIGTERM, *UNKNOWN)
PATIENCE = 5.0  # seconds to wait until the server reports how a process ended


class ForkedJob(Job):
    """A process and the connection to it; the process has ended when the connection is closed.

    threads: of PyTorch
    place: of those that run side by side; they take turns on the GPUs
    environment: variables that differ from those of the server
    """

    def __init__(self, folder: Path, threads: int, place: int, jobs: int, environment: Mapping[str, str] | None = None):
        self._said: tuple[TrialState | Lost, str] | None = None
        self._is_over = self._was_killed = False
        try:
            self._process, self.line = server.launch(work, str(folder), threads, place, jobs, environment or {})
        except server.NoServer as error:
            self._said, self._is_over = (Lost.KILLED, str(error)), True

    def is_over(self) -> bool:
        try:
            while not self._is_over and self.line.poll():
                self._said = self.line.recv()
        except (EOFError, OSError):
            self._is_over = True
        return self._is_over

    def ended(self) -> tuple[TrialState | Lost, str] | None:
        if not self.is_over():
            return None
        if self._said is not None:
            return self._said
        self._process.join(PATIENCE)
        code = self._process.exitcode
        how = "it was stopped at once, as asked" if self._was_killed else _how(code)
        return Lost.KILLED if code in FROM_OUTSIDE else Lost.DIED, how

    def stop(self) -> None:
        with suppress(OSError):  # it has just ended
            self.line.send("stop")

    def kill(self) -> None:
        if not self.is_over() and self._process.pid is not None:
            with suppress(ProcessLookupError):
                os.kill(self._process.pid, signal.SIGKILL)
                self._was_killed = True


def _how(code: int | None) -> str:
    """The reason why a process ended without reporting a state."""
    if code in UNKNOWN:
        return "its process was ended, and so was the server that would know how"
    if code is None or code >= 0:
        return f"its process ended with code {code}"
    name = signal.Signals(-code).name
    memory = psutil.virtual_memory().total / 1e9
    hint = f": the system may have run out of its {memory:.0f} GB of memory" if name == "SIGKILL" else ""
    return f"its process was ended by {name}{hint}"


def work(line: Connection, path: str, threads: int, place: int, jobs: int, environment: Mapping[str, str]) -> None:
    """The main function of a trial's process; at the end it sends its state to the parent."""
    os.environ.update(environment)
    for number in server.INTERRUPTS:
        signal.signal(number, signal.SIG_IGN)  # the parent receives it and decides
    import torch  # the server has

    from gredkit.ablation.worker import attempt
    from gredkit.trials.folder import TrialFolder

    torch.set_num_threads(threads)
    if torch.cuda.is_available():
        torch.cuda.set_device(place % torch.cuda.device_count())  # the device of the names `cuda` and `auto`
    folder = TrialFolder(Path(path))
    with suppress(OSError):  # a full disk, which the trial will report
        _print_to(folder.log)
    stop = threading.Event()
    threading.Thread(target=_listen, args=(line, stop), daemon=True).start()
    line.send(attempt(folder, stop.is_set, jobs))


def _listen(line: Connection, stop: threading.Event) -> None:
    """Wait for the parent's request to stop after this epoch; if the parent dies, end immediately."""
    try:
        while True:
            line.recv()
            stop.set()
    except (EOFError, OSError):
        os._exit(1)


def _print_to(log: Path) -> None:
    """Print to a log file, because the parent shows its table in the terminal."""
    sys.stdout.flush()
    sys.stderr.flush()
    file = log.open("a")
    os.dup2(file.fileno(), 1)
    os.dup2(file.fileno(), 2)
