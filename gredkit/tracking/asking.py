"""Asking a server that may drop, delay or refuse some of the questions: again, soon, and not for ever."""

import itertools
import math
import os
import random
import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

TIMEOUT = "MLFLOW_HTTP_REQUEST_TIMEOUT"  # MLflow reads it, in whole seconds, before each request
LONGEST = int(os.environ.get(TIMEOUT) or 30)  # seconds for an answer
SHORTEST, UNKNOWN = 1.0, 8.0  # seconds: of a quick server, and before it has ever answered
SLOWER = 4.0  # times the slowest answer of late: no answer will come
SECONDS, TRIES = 5.0, 5  # after both, the server counts as silent
PAUSE, LONGEST_PAUSE = 0.05, 1.0  # seconds before the second try, doubled from then on


class Asking:
    """Repeats a question that may be repeated; how long it waits for an answer, it learns from those that came."""

    def __init__(self) -> None:
        self._slowest = UNKNOWN / SLOWER

    def __call__(self, question: Callable[[], T], is_answer: Callable[[Exception], bool]) -> T:
        """The answer; an error that `is_answer` is raised at once, another one only when asking has not helped."""
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
                        self._slowest = max(self._slowest, waited)  # or every later question would be cut as short
                    raise
                pause = min(PAUSE * 2 ** (tried - 1), LONGEST_PAUSE)
                time.sleep(pause * random.uniform(0.5, 1.0))
            else:
                self._slowest = max(time.monotonic() - asked, 0.8 * self._slowest)
                return answer
            finally:
                os.environ[TIMEOUT] = str(LONGEST)
        raise AssertionError  # it never stops counting

    def _seconds(self, tried: int) -> int:
        return math.ceil(min(max(SHORTEST, SLOWER * self._slowest) * 2 ** (tried - 1), LONGEST))
