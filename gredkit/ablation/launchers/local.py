import itertools
import os
import signal
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from multiprocessing import connection
from multiprocessing.connection import Connection
from pathlib import Path

import psutil
import torch

from gredkit.ablation.jobs import Jobs, jobs_for
from gredkit.ablation.launchers.base import Job, Launcher, Lost, Needs
from gredkit.ablation.launchers.forking import server
from gredkit.ablation.memory import trial_bytes
from gredkit.ablation.worker import attempt
from gredkit.nn.kernels.build import library
from gredkit.registry import LAUNCHERS
from gredkit.system.resources import resources
from gredkit.trials.folder import TrialFolder
from gredkit.trials.state import TrialState
from gredkit.trials.trial import Trial

UNKNOWN = (None, 255)  # exit codes that Python reports for a process whose server was killed
FROM_OUTSIDE = (-signal.SIGKILL, -signal.SIGTERM, *UNKNOWN)
PATIENCE = 5.0  # seconds to wait until the server reports how a process ended


@LAUNCHERS.register("local")
class Local(Launcher):
    """One process per trial on this machine; the threads are divided among them.

    The processes are forked from a server that has already imported everything, so that a trial starts immediately.

    jobs: how many trials run side by side
    """

    def __init__(self, jobs: int):
        super().__init__(jobs)
        self.threads = max(torch.get_num_threads() // jobs, 1)
        self._running: dict[int, LocalJob] = {}  # by their slot; there are as many slots as jobs

    @classmethod
    def usual_jobs(cls, trials: Sequence[Trial]) -> Jobs:
        return jobs_for(trials, resources(), trial_bytes)

    def resources(self, trial: Trial) -> Needs:
        on_gpu = torch.cuda.is_available() and trial.settings.get("fit.device") != "cpu"
        return Needs(cores=self.threads, gpus=int(on_gpu))

    def prepare(self) -> None:
        if not torch.cuda.is_available():
            library()  # compile once for all trials, and report problems here instead of in each trial's log

    def start(self, folder: Path) -> Job:
        self._forget_ended()
        place = next(i for i in itertools.count() if i not in self._running)
        self._running[place] = LocalJob(folder, self.threads, place, self.jobs)
        return self._running[place]

    def wait(self, seconds: float) -> None:
        self._forget_ended()
        connection.wait([job.line for job in self._running.values()], seconds)

    def _forget_ended(self) -> None:
        self._running = {place: job for place, job in self._running.items() if not job.is_over()}


class LocalJob(Job):
    """A process and the connection to it; the process has ended when the connection is closed."""

    def __init__(self, folder: Path, threads: int, place: int, jobs: int):
        self._said: tuple[TrialState | Lost, str] | None = None
        self._is_over = self._was_killed = False
        try:
            self._process, self.line = server.launch(work, str(folder), threads, place, jobs)
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


def work(line: Connection, path: str, threads: int, place: int, jobs: int) -> None:
    """The main function of a trial's process; at the end it sends its state to the parent."""
    for number in server.INTERRUPTS:
        signal.signal(number, signal.SIG_IGN)  # the parent receives it and decides
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
