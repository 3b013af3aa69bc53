"""What trials on other machines have in common; their folder is on a disk that all machines share."""

import time
from collections.abc import Callable
from typing import TypeVar

from gredkit.trials.state import TrialState

STOP = "stop"  # the file in a trial's folder that asks to stop after the running epoch
LOCKED = 600.0  # seconds in which the process on a lost machine has let go of its trial, or will not soon
State = TypeVar("State")


def until_free(attempt: Callable[[], tuple[State, str]], is_stopped: Callable[[], bool]) -> tuple[State, str]:
    """Attempt to train a trial, again while another process still holds its lock.

    A machine that the cluster has given up may train on for a while.
    """
    end = time.monotonic() + LOCKED
    while True:
        state, message = attempt()
        if state != TrialState.ELSEWHERE or is_stopped() or time.monotonic() > end:
            return state, message
