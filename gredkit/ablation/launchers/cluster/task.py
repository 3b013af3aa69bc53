"""What a task of Ray does: train one trial in a process of its own, as on the machine of the command.

Ray starts tasks one after another in the same worker process. The first one starts the server that has imported
everything; each trial is forked from it, so that it starts at once and no trial influences another one. If the worker
dies, so does the process of its trial.
"""

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from multiprocessing import connection
from pathlib import Path
from typing import Any

from gredkit.ablation.launchers.base import Lost
from gredkit.ablation.launchers.cluster.shared import STOP, until_free
from gredkit.ablation.launchers.forking.process import ForkedJob
from gredkit.trials.state import TrialState

TICK = 0.25  # seconds between two looks for the file that asks to stop
NO_GPU = {"CUDA_VISIBLE_DEVICES": ""}  # for trials that asked for none: those of the machine may be taken
Ended = tuple[TrialState | Lost, str]


def entry() -> Callable[..., Any]:
    """The function that Ray calls. It travels as code, because a worker may not find gredkit before it has run."""

    def begin(folder: str, search: Sequence[str], environment: Mapping[str, str], *arguments: Any) -> Any:
        """Go to the folder of the command and import what it imports."""
        import os
        import sys

        os.chdir(folder)
        os.environ.update(environment)
        sys.path[:] = [*search, *(path for path in sys.path if path not in search)]
        from gredkit.ablation.launchers.cluster.task import train

        return train(*arguments)

    return begin


def train(path: str, threads: int, jobs: int, has_gpu: bool) -> Ended:
    """Train the trial of a folder; returns how its process ended."""
    folder, stop = Path(path), Path(path) / STOP
    if not folder.is_dir():
        raise FileNotFoundError(path)
    vars(sys.modules["__main__"])["__file__"] = None  # or else the forked process would import that of Ray
    visible = {name: value for name, value in os.environ.items() if name.endswith("_VISIBLE_DEVICES")}

    def attempt() -> Ended:
        job, is_stopped = ForkedJob(folder, threads, 0, jobs, visible if has_gpu else NO_GPU), False
        while (ended := job.ended()) is None:
            if not is_stopped and stop.exists():
                job.stop()
                is_stopped = True
            connection.wait([job.line], TICK)
        return ended

    return until_free(attempt, stop.exists)
