"""What SLURM says about the jobs of this user."""

import subprocess
import time
from collections.abc import Mapping
from contextlib import suppress

EVERY = 2.0  # seconds between two questions; one question is about all jobs
LOOK_AGAIN = 5  # answers without a job, before it counts as gone: SLURM forgets jobs only minutes after their end
PATIENCE = 60  # seconds until a command of SLURM must have answered
ACTIVE = {"PENDING", "RUNNING", "SUSPENDED", "COMPLETING", "CONFIGURING", "REQUEUED", "REQUEUE_FED", "REQUEUE_HOLD",
          "RESIZING", "RESV_DEL_HOLD", "SIGNALING", "SPECIAL_EXIT", "STAGE_OUT", "STOPPED"}  # fmt: skip
GONE = "GONE"  # SLURM does not know the job any more


class Queue:
    """The states of all jobs of this user.

    They come from `squeue`, which also lists jobs that ended a short time ago, because `sacct` answers only where
    slurmdbd runs. While the controller of SLURM does not answer, every job keeps the state that it had.
    """

    def __init__(self) -> None:
        self._states: dict[str, str] = {}
        self._missed: dict[str, int] = {}
        self._asked = -EVERY

    def state(self, job: str) -> str:
        """The state of a job, such as RUNNING, CANCELLED or `GONE`."""
        if time.monotonic() - self._asked >= EVERY:
            self._ask()
        if job in self._states:
            return self._states[job]
        return GONE if self._missed.get(job, 0) >= LOOK_AGAIN else "PENDING"

    def is_active(self, job: str) -> bool:
        """Whether a job waits, runs, or will run again."""
        return self.state(job) in ACTIVE

    def watch(self, job: str) -> None:
        """From now on, notice if SLURM does not know the job."""
        self._missed.setdefault(job, 0)

    def is_known(self, job: str) -> bool:
        """Whether SLURM lists a job of an earlier invocation as active now."""
        if time.monotonic() - self._asked >= EVERY:
            self._ask()
        return self._states.get(job) in ACTIVE

    def _ask(self) -> None:
        found = listed()
        self._asked = time.monotonic()
        if found is None:
            return
        self._states = dict(found)
        for job in self._missed:
            self._missed[job] = 0 if job in found else self._missed[job] + 1


def listed() -> Mapping[str, str] | None:
    """The states of this user's jobs by their ids, `12` or, in an array, `12_3`; None if SLURM does not answer."""
    command = ["squeue", "--me", "--noheader", "--array", "--states=all", "--format=%i %T"]
    try:
        said = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
    except (OSError, subprocess.TimeoutExpired):
        return None
    if said.returncode:
        return None
    return dict(line.split(maxsplit=1) for line in said.stdout.splitlines() if len(line.split()) == 2)


def cancel(job: str) -> None:
    """End a job immediately; one that has ended already is no mistake, and SLURM may be away."""
    with suppress(OSError, subprocess.TimeoutExpired):
        subprocess.run(["scancel", job], capture_output=True, timeout=PATIENCE)


def requeue(job: str) -> None:
    """Put a job back into the queue, from which it starts again, if the cluster allows it."""
    with suppress(OSError, subprocess.TimeoutExpired):
        subprocess.run(["scontrol", "requeue", job], capture_output=True, timeout=PATIENCE)
