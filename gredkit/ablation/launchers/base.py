"""The interface of a launcher."""

import time
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gredkit import ranges
from gredkit.ablation.jobs import Jobs
from gredkit.errors import UserError
from gredkit.trials.state import TrialState

if TYPE_CHECKING:  # it needs PyTorch, which who only watches a trial does without
    from gredkit.trials.trial import Trial


class Lost(Enum):
    """How a job ended that could not report the state of its trial."""

    DIED = "died"  # by itself
    KILLED = "killed"  # by somebody else


class Job(ABC):
    """A trial that was started somewhere."""

    @abstractmethod
    def ended(self) -> tuple[TrialState | Lost, str] | None:
        """State and message after it has ended; None while it runs; `Lost` if it could not report its state."""

    @abstractmethod
    def stop(self) -> None:
        """Ask it to stop after the running epoch."""

    @abstractmethod
    def kill(self) -> None:
        """End it immediately."""


class Refused(UserError):
    """The launcher cannot start processes, which may not be the user's fault."""

    exit_code = 1


class Launcher(ABC):
    """Starts the processes that train trials.

    jobs: number of trials that run side by side
    """

    def __init__(self, jobs: int):
        ranges.whole("jobs", jobs, 1, 10_000)
        self.jobs = jobs

    @classmethod
    def usual_jobs(cls, trials: "Sequence[Trial]", settings: Mapping[str, Any]) -> Jobs:
        """The number of jobs if the user gives none; the settings are those of the launcher."""
        return Jobs(1, "as this launcher has no other number of its own")

    def prepare(self) -> None:  # noqa: B027  most have nothing to prepare
        """Work that is done once before the first trial starts."""

    @abstractmethod
    def start(self, folder: Path) -> Job:
        """Start the trial of a folder; raises `Refused` if neither this nor any other trial can be started."""

    @property
    def capacity(self) -> int:
        """The number of trials that are handed to the launcher at a time."""
        return self.jobs

    def start_all(self, folders: Sequence[Path]) -> list[Job]:
        """Start several trials; raises `Refused` if they cannot be started."""
        return [self.start(folder) for folder in folders]

    def wait(self, seconds: float) -> None:
        """Wait until a job may have ended, at most so many seconds."""
        time.sleep(seconds)

    def close(self) -> None:  # noqa: B027  most hold nothing
        """Let go of what it holds, after the last trial."""


def wants_gpu(trial: "Trial") -> bool:
    """Whether the study says that it trains on a GPU."""
    return str(trial.settings.get("fit.device", "")).strip("'\"").startswith("cuda")
