"""What a launcher is."""

import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from enum import Enum
from pathlib import Path

from gredkit import ranges
from gredkit.ablation.jobs import Jobs
from gredkit.errors import UserError
from gredkit.trials.state import TrialState
from gredkit.trials.trial import Trial


class Lost(Enum):
    """How a job ended that could not say the state of its trial."""

    DIED = "died"  # by itself
    KILLED = "killed"  # by somebody else


class Job(ABC):
    """A trial that was started somewhere."""

    @abstractmethod
    def ended(self) -> tuple[TrialState | Lost, str] | None:
        """State and message once it has ended, None while it runs; `Lost` if it could not say its state."""

    @abstractmethod
    def stop(self) -> None:
        """Ask it to stop after the running epoch."""

    @abstractmethod
    def kill(self) -> None:
        """End it at once."""


class Refused(UserError):
    """What starts the processes does not start them; the user may not be at fault."""

    exit_code = 1


class Launcher(ABC):
    """Starts the process that trains the trial of a folder; built with the number of jobs that run side by side."""

    def __init__(self, jobs: int):
        ranges.whole("jobs", jobs, 1, 10_000)
        self.jobs = jobs

    @classmethod
    def usual_jobs(cls, trials: Sequence[Trial]) -> Jobs:
        """How many run side by side if the user does not say."""
        return Jobs(1, "as this launcher has no other number of its own")

    def prepare(self) -> None:  # noqa: B027  most have nothing to prepare
        """What is done once, and said once, before the first trial starts."""

    @abstractmethod
    def start(self, folder: Path) -> Job:
        """Start the trial of a folder; `Refused` if that cannot be done, as then no other can be started either."""

    def wait(self, seconds: float) -> None:
        """Until a job may have ended, or so long."""
        time.sleep(seconds)
