import itertools
from collections.abc import Mapping, Sequence
from multiprocessing import connection
from pathlib import Path
from typing import Any

import torch

from gredkit.ablation.jobs import Jobs, jobs_for
from gredkit.ablation.launchers.base import Job, Launcher, Needs
from gredkit.ablation.launchers.forking import server
from gredkit.ablation.launchers.forking.process import ForkedJob
from gredkit.ablation.memory import trial_bytes
from gredkit.nn.kernels.build import library
from gredkit.registry import LAUNCHERS
from gredkit.system.resources import resources
from gredkit.trials.trial import Trial


@LAUNCHERS.register("local")
class Local(Launcher):
    """One process per trial on this machine; the threads are divided among them.

    The processes are forked from a server that has already imported everything, so that a trial starts immediately.

    jobs: how many trials run side by side
    """

    def __init__(self, jobs: int):
        super().__init__(jobs)
        self.threads = max(torch.get_num_threads() // jobs, 1)
        self._running: dict[int, ForkedJob] = {}  # by their slot; there are as many slots as jobs

    @classmethod
    def usual_jobs(cls, trials: Sequence[Trial], settings: Mapping[str, Any]) -> Jobs:
        return jobs_for(trials, resources(), trial_bytes)

    def resources(self, trial: Trial) -> Needs:
        on_gpu = torch.cuda.is_available() and trial.settings.get("fit.device") != "cpu"
        return Needs(cores=self.threads, gpus=int(on_gpu))

    def check(self) -> None:
        server.start()  # it imports while the study is prepared

    def prepare(self) -> None:
        if not torch.cuda.is_available():
            library()  # compile once for all trials, and report problems here instead of in each trial's log

    def start(self, folder: Path) -> Job:
        self._forget_ended()
        place = next(i for i in itertools.count() if i not in self._running)
        self._running[place] = ForkedJob(folder, self.threads, place, self.jobs)
        return self._running[place]

    def wait(self, seconds: float) -> None:
        self._forget_ended()
        connection.wait([job.line for job in self._running.values()], seconds)

    def _forget_ended(self) -> None:
        self._running = {place: job for place, job in self._running.items() if not job.is_over()}
