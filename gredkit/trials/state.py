"""The states that a trial goes through."""

from enum import Enum


class TrialState(str, Enum):
    """The state of a trial; its value is what MLflow and the files of a trial hold."""

    WAITING = "waiting"  # not started yet
    RUNNING = "running"
    FINISHED = "finished"  # trained and tested
    DIVERGED = "diverged"  # the loss or an output became NaN or infinite
    FAILED = "failed"  # an error ended it
    INTERRUPTED = "interrupted"  # stopped from outside; it continues from its checkpoint
    ELSEWHERE = "elsewhere"  # another invocation trains it
    MISSING = "missing"  # MLflow does not have it

    def __str__(self) -> str:
        return self.value

    @classmethod
    def of(cls, text: str) -> "TrialState":
        """The state with this value; `MISSING` for any other text, as a shared store may hold."""
        try:
            return cls(text)
        except ValueError:
            return cls.MISSING


OPEN = (TrialState.WAITING, TrialState.RUNNING)
UNDECIDED = (TrialState.WAITING, TrialState.INTERRUPTED, TrialState.ELSEWHERE)  # a result is still to come
BROKEN = (TrialState.FAILED, TrialState.DIVERGED)  # trained again with --retry
ENDED = (TrialState.FINISHED, *BROKEN)
