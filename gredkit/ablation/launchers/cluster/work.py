"""What a job of SLURM does: train one trial, and go back into the queue when its time is over."""

import os
import signal
import sys
import time
from pathlib import Path
from types import FrameType

from gredkit.ablation.launchers.cluster import queue
from gredkit.ablation.launchers.cluster.shared import STOP, until_free
from gredkit.ablation.launchers.forking.server import INTERRUPTS
from gredkit.trials.folder import TrialFolder
from gredkit.trials.state import TrialState

SPARE = 1.5  # an epoch begins only if the time that is left is as many times as long as the longest one


class Limit:
    """The time limit of a job, and SLURM's signals that it is near.

    SLURM sends SIGUSR2 some time before the limit, and SIGTERM when it takes the machine away. Both ask for a stop
    after the running epoch; after SIGTERM, SLURM itself decides whether the job starts again. If epochs are longer than
    the warning, the job stops before an epoch that it could not end.
    """

    def __init__(self, hours: float):
        ends = os.environ.get("SLURM_JOB_END_TIME", "")
        self._end = float(ends) if ends.isdigit() else time.time() + 3600 * hours
        self._before, self._longest = time.time(), 0.0
        self.is_near = self._is_ending = False
        signal.signal(signal.SIGUSR2, self._warn)
        signal.signal(signal.SIGTERM, self._end_soon)

    def _warn(self, number: int, frame: FrameType | None) -> None:
        self.is_near = True

    def _end_soon(self, number: int, frame: FrameType | None) -> None:
        self._is_ending = True

    def ends_here(self) -> bool:
        """Whether no other epoch should begin; asked after each epoch."""
        now = time.time()
        self._longest, self._before = max(self._longest, now - self._before), now
        self.is_near = self.is_near or now + SPARE * self._longest > self._end
        return self.is_near or self._is_ending


def work(path: str, search: list[str], cpus: int, jobs: int, hours: float) -> None:
    """The main function of a job. The trial's folder holds how it ended; nothing else is returned."""
    for number in INTERRUPTS:
        signal.signal(number, signal.SIG_IGN)  # Ctrl-C in a terminal reaches jobs on this machine: the stop file counts
    limit = Limit(hours)
    sys.path[:] = search  # so that the user's own modules are found
    import torch

    from gredkit.ablation.worker import attempt

    torch.set_num_threads(cpus)
    folder, stop = TrialFolder(Path(path)), Path(path) / STOP
    state, _ = until_free(lambda: attempt(folder, lambda: limit.ends_here() or stop.exists(), jobs), stop.exists)
    if state == TrialState.INTERRUPTED and limit.is_near and not stop.exists():
        queue.requeue(os.environ["SLURM_JOB_ID"])  # otherwise the running command submits another job
