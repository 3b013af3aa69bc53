"""How far each trial is: what the terminal shows."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field

from gredkit.tracking.measured import Event
from gredkit.trials.folder import TrialFolder
from gredkit.trials.state import TrialState
from gredkit.trials.trial import Trial


@dataclass
class TrialProgress:
    """What the process that shows a trial knows about it."""

    trial: Trial
    state: TrialState = TrialState.WAITING
    message: str = ""
    epoch: int = 0  # number of finished epochs
    score: float | None = None  # the last validation score; at the end the test score
    test: float | None = None
    validation: float | None = None  # the best validation score
    began: float = 0.0
    begun_at: int = 0  # the epoch from which it continued
    took: float = 0.0
    retried: str = ""  # the run of an earlier attempt, deleted when the trial is trained again
    said: tuple[TrialState, str] | None = None  # state and message, as the process of the trial wrote them
    _place: int = field(default=0, repr=False)

    @property
    def epochs(self) -> int:
        return int(self.trial.settings["fit.epochs"])

    def start(self, folder: TrialFolder) -> None:
        """Mark the trial as running; what an earlier attempt wrote is read first."""
        self.read(folder)
        self.state, self.message, self.began, self.begun_at = TrialState.RUNNING, "", time.monotonic(), self.epoch
        self.said = None

    def read(self, folder: TrialFolder) -> list[Event]:
        """Read what the trial has written since the last call."""
        events, self._place = folder.events(self._place)
        for event in events:
            if event["event"] == "epoch":
                self.epoch, self.score = event["epoch"] + 1, event["validation"]
            elif event["event"] == "result":
                self.validation, self.test, self.score = event["validation"], event["test"], event["test"]
            elif event["event"] == "started":  # a job of a cluster may have waited, or start again
                self.began, self.begun_at, self.said = time.monotonic(), self.epoch, None
            elif event["event"] == "ended":
                self.said = TrialState.of(event["state"]), event["message"]
        return events

    def found(self, state: TrialState, metrics: Mapping[str, float], message: str = "") -> None:
        """Take over what MLflow has from an earlier invocation, or from another one that runs now."""
        self.state, self.message = state, message
        self.validation, self.test = metrics.get("best/validation"), metrics.get("best/test")
        self.score = self.test

    def end(self, state: TrialState, message: str) -> None:
        self.state, self.message, self.took = state, message, time.monotonic() - self.began

    def seconds_left(self) -> float | None:
        """Seconds until the last epoch, at the pace so far; None before the first epoch has ended."""
        done = self.epoch - self.begun_at
        if self.state != TrialState.RUNNING or not done:
            return None
        return (time.monotonic() - self.began) / done * (self.epochs - self.epoch)


def duration(seconds: float) -> str:
    """A short text, such as `40 s`, `12 min` or `2 h 05 min`."""
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 100 else f"{minutes // 60} h {minutes % 60:02d} min"
