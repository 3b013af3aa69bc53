"""Repeat requests to a server that may drop, delay or refuse some of them, but not for ever."""

import itertools
import math
import os
import random
import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

TIMEOUT = "MLFLOW_HTTP_REQUEST_TIMEOUT"  # MLflow reads it, in whole seconds, before each request
LONGEST = int(os.environ.get(TIMEOUT) or 30)  # the longest timeout in seconds
SHORTEST, UNKNOWN = 1.0, 8.0  # timeouts in seconds: of a fast server, and before the first answer
SLOWER = 4.0  # the timeout is this many times the slowest recent answer
SECONDS, TRIES = 5.0, 5  # after both, the server counts as silent
PAUSE, LONGEST_PAUSE = 0.05, 1.0  # seconds before the second try, doubled after each try


class Asking:
    """Repeats a request that may be repeated; the timeout adapts to the answers so far."""

    def __init__(self) -> None:
        self._slowest = UNKNOWN / SLOWER

    def __call__(self, question: Callable[[], T], is_answer: Callable[[Exception], bool]) -> T:
        """The answer; an error for which `is_answer` is true is raised at once, others only after several tries."""
        began = time.monotonic()
        for tried in itertools.count(1):
            seconds = self._seconds(tried)
            asked = time.monotonic()
            try:
                os.environ[TIMEOUT] = str(seconds)
                answer = question()
            except Exception as error:
                waited = time.monotonic() - asked
                if is_answer(error):
                    raise
                if tried >= TRIES and time.monotonic() - began > SECONDS:
                    if waited >= seconds:
                        self._slowest = max(self._slowest, waited)  # otherwise later requests would time out as early
                    raise
                pause = min(PAUSE * 2 ** (tried - 1), LONGEST_PAUSE)
                time.sleep(pause * random.uniform(0.5, 1.0))
            else:
                self._slowest = max(time.monotonic() - asked, 0.8 * self._slowest)
                return answer
            finally:
                os.environ[TIMEOUT] = str(LONGEST)
        raise AssertionError  # unreachable: the loop is endless

    def _seconds(self, tried: int) -> int:
        return math.ceil(min(max(SHORTEST, SLOWER * self._slowest) * 2 ** (tried - 1), LONGEST))
