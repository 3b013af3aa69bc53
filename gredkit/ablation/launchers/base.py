"""The interface of a launcher."""

import time
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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


@dataclass(frozen=True)
class Needs:
    """What a trial has while it runs.

    gpus: also a part of one, where trials share it
    gigabytes: of memory, if there is a limit
    hours: after which it saves its state, and continues when it is started again; None if there is no limit
    """

    cores: int
    gpus: float = 0
    gigabytes: float | None = None
    hours: float | None = None

    def __str__(self) -> str:
        """`4 cores, 1 GPU, 16 GB of memory, 24 h`"""
        named = ((self.cores, "core"), (self.gpus, "GPU"))
        said = [f"{count:g} {name}{'s' if count > 1 else ''}" for count, name in named if count]
        said += [] if self.gigabytes is None else [f"{self.gigabytes:g} GB of memory"]
        return ", ".join(said + ([] if self.hours is None else [f"{self.hours:g} h"]))


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

    An object is also made to plan a study where no trial can be started: only `check` and what follows need the place.

    jobs: number of trials that run side by side
    place: where the trials run
    """

    place = "on this machine"

    def __init__(self, jobs: int):
        ranges.whole("jobs", jobs, 1, 10_000)
        self.jobs = jobs

    @classmethod
    def usual_jobs(cls, trials: "Sequence[Trial]", settings: Mapping[str, Any]) -> Jobs:
        """The number of jobs if the user gives none; the settings are those of the launcher."""
        return Jobs(1, "as this launcher has no other number of its own")

    def resources(self, trial: "Trial") -> Needs:
        """What a trial is given, for the plan; a launcher that gives more than one core says so."""
        return Needs(cores=1)

    def check(self) -> None:  # noqa: B027  most can always start trials
        """Raise a `UserError` if no trial can be started from here; asked before anything is tracked."""

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
