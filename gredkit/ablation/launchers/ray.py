import os
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from gredkit import ranges
from gredkit.ablation.jobs import Jobs, jobs_for
from gredkit.ablation.launchers.base import Job, Launcher, Lost, Needs, Refused, wants_gpu
from gredkit.ablation.launchers.cluster.nodes import Nodes
from gredkit.ablation.launchers.cluster.shared import STOP
from gredkit.ablation.launchers.cluster.task import entry
from gredkit.ablation.memory import trial_bytes
from gredkit.errors import UserError, cause
from gredkit.registry import LAUNCHERS
from gredkit.system.resources import resources
from gredkit.trials.folder import TrialFolder
from gredkit.trials.state import TrialState
from gredkit.trials.trial import Trial

IN_VAIN = 3  # tasks of a trial that are lost one after another without an epoch, before it is given up
NO_ROOM = 60.0  # seconds until a trial is given up that no node has room for any more, or can be asked for
PATIENCE = 5.0  # seconds until a task that was cancelled counts as gone
OURS = "GREDKIT_"  # what the names of our environment variables begin with


@LAUNCHERS.register("ray")
class Ray(Launcher):
    """One task of Ray per trial; the work folder must be on a disk that all nodes share.

    A trial whose node is lost goes on from its checkpoint on another one.

    jobs: how many trials run side by side
    address: of a Ray that runs (auto, HOST:PORT or ray://HOST:PORT), as --address; None starts one on this machine
    cpus: of a trial; it trains with as many threads
    gpus: of a trial, 0.5 for half of one; None is one if the study sets `fit.device = 'cuda'`, otherwise none
    memory_gb: what a trial reserves of a node's memory; None reserves nothing
    """

    def __init__(
        self,
        jobs: int,
        address: str | None = None,
        cpus: int = 1,
        gpus: float | None = None,
        memory_gb: float | None = None,
    ):
        super().__init__(jobs)
        _check(cpus, gpus, memory_gb)
        self._cpus, self._gpus, self._memory = cpus, gpus, memory_gb
        self.nodes, self._is_ours = Nodes(), address is None
        if address is not None:
            self.place = "on the nodes of Ray"
            self.nodes.connect(address)
        # Ray itself would also repeat a task that can never succeed; we repeat it as long as that helps.
        self._task = self.nodes.ray.remote(max_retries=0)(entry())
        self._running: list[RayJob] = []

    @classmethod
    def usual_jobs(cls, trials: Sequence[Trial], settings: Mapping[str, Any]) -> Jobs:
        """As many as the nodes have room for; on this machine alone as many as without Ray."""
        cpus, gpus, memory = settings["cpus"], settings["gpus"], settings["memory_gb"]
        _check(cpus, gpus, memory)
        if settings["address"] is None:
            machine = resources()
            return jobs_for(trials, replace(machine, cores=max(machine.cores // cpus, 1)), trial_bytes)
        nodes = Nodes()
        nodes.connect(settings["address"])
        room = nodes.room(_wanted(trials[0], cpus, gpus, memory)) if trials else 1
        count = max(min(room, len(trials)), 1)
        return Jobs(count, "as many as Ray has room for" if count == room else "all there are")

    def resources(self, trial: Trial) -> Needs:
        return Needs(self._cpus, _gpus_of(trial, self._gpus), self._memory)

    def start(self, folder: Path) -> Job:
        if self._is_ours:
            try:
                self.nodes.start(self.jobs * self._cpus)
            except UserError as error:
                raise Refused(str(error)) from error
        wanted = _wanted(TrialFolder(folder).trial(), self._cpus, self._gpus, self._memory)
        if lack := self.nodes.lack(wanted):
            raise Refused(lack)
        (folder / STOP).unlink(missing_ok=True)
        job = RayJob(self, folder, wanted)
        self._running.append(job)
        return job

    def submit(self, folder: Path, wanted: Mapping[str, float]) -> Any:
        """A new task for a trial."""
        environment = {name: value for name, value in os.environ.items() if name.startswith(OURS)}
        task = self._task.options(
            name=f"gredkit {folder.name}",
            num_cpus=wanted["CPU"],
            num_gpus=wanted["GPU"],
            memory=wanted["memory"] or None,
        )
        search = [os.path.abspath(path) for path in sys.path]
        return task.remote(
            *(os.getcwd(), search, environment), str(folder.absolute()), self._cpus, self.jobs, wanted["GPU"] > 0
        )

    def wait(self, seconds: float) -> None:
        self._running = [job for job in self._running if not job.is_over]
        if not self._running:
            return super().wait(seconds)
        try:
            self.nodes.ray.wait([job.task for job in self._running], num_returns=1, timeout=seconds)
        except (ConnectionError, self.nodes.ray.exceptions.RayError):  # the jobs will notice
            super().wait(seconds)

    def close(self) -> None:
        self.nodes.ray.shutdown()


class RayJob(Job):
    """A trial, and the task that trains it."""

    def __init__(self, launcher: Ray, folder: Path, wanted: Mapping[str, float]):
        self._launcher, self._ray, self._folder, self._wanted = launcher, launcher.nodes.ray, folder, wanted
        self._epochs = self._count_epochs()
        self._in_vain = 0  # tasks that were lost without a new epoch
        self._killed_at = self._lacking_since = 0.0
        self._is_stopped = self.is_over = False
        self.task = launcher.submit(folder, wanted)

    def ended(self) -> tuple[TrialState | Lost, str] | None:
        ended = self._ended()
        self.is_over = ended is not None
        return ended

    def _ended(self) -> tuple[TrialState | Lost, str] | None:
        errors = self._ray.exceptions
        try:
            if not self._ray.wait([self.task], timeout=0)[0]:
                return self._given_up()
            return self._ray.get(self.task)
        except errors.RayTaskError as error:
            return Lost.KILLED, _why(error, self._folder)
        except (errors.RayError, ConnectionError) as error:
            if self._killed_at:
                return Lost.KILLED, "it was stopped at once, as asked"
            how = _how(error, errors)
            if self._is_stopped:
                return Lost.KILLED, how
            try:
                return None if self._submitted_again() else (Lost.KILLED, how)
            except (errors.RayError, ConnectionError):
                return Lost.KILLED, how

    def stop(self) -> None:
        self._is_stopped = True
        (self._folder / STOP).touch()

    def kill(self) -> None:
        self._is_stopped, self._killed_at = True, time.monotonic()
        self._cancel()

    def _cancel(self) -> None:
        with suppress(self._ray.exceptions.RayError, ConnectionError):  # the Ray that had it is away
            self._ray.cancel(self.task, force=True)

    def _given_up(self) -> tuple[Lost, str] | None:
        """How it ended if the task still seems to wait or to run: it was killed, or there is no node for it."""
        now = time.monotonic()
        if self._killed_at:
            return (Lost.KILLED, "it was stopped at once, as asked") if now > self._killed_at + PATIENCE else None
        lack = self._launcher.nodes.lack(self._wanted)
        self._lacking_since = (self._lacking_since or now) if lack else 0.0
        if not lack or now < self._lacking_since + NO_ROOM:
            return None
        self._cancel()
        return Lost.KILLED, lack

    def _submitted_again(self) -> bool:
        """Submit the trial again unless its tasks have been lost in vain."""
        before, self._epochs = self._epochs, self._count_epochs()
        self._in_vain = self._in_vain + 1 if self._epochs == before else 0
        if self._in_vain == IN_VAIN:
            return False
        self.task = self._launcher.submit(self._folder, self._wanted)
        return True

    def _count_epochs(self) -> int:
        return len(TrialFolder(self._folder).epochs())


def _wanted(trial: Trial, cpus: int, gpus: float | None, memory_gb: float | None) -> Mapping[str, float]:
    """What a trial asks for, by Ray's names."""
    return {"CPU": cpus, "GPU": _gpus_of(trial, gpus), "memory": round((memory_gb or 0) * 2**30)}


def _gpus_of(trial: Trial, gpus: float | None) -> float:
    return float(wants_gpu(trial)) if gpus is None else gpus


def _check(cpus: int, gpus: float | None, memory_gb: float | None) -> None:
    ranges.whole("cpus", cpus, 1, 10_000)
    if gpus is not None:
        ranges.number("gpus", gpus, lambda v: 0 <= v <= 1 or v == int(v) > 0, "a whole number, or a part of 1")
    if memory_gb is not None:
        ranges.positive("memory_gb", memory_gb)


def _why(error: Any, folder: Path) -> str:
    """Why a task could not begin."""
    told = cause(error.cause)
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        return f"a node of Ray does not find {folder.absolute()}: choose a --work folder on a disk that all nodes share"
    if isinstance(error, ModuleNotFoundError):
        return f"a node of Ray cannot import what the trial needs ({told}): install the same there"
    return f"a node of Ray could not begin: {told}"


def _how(error: Exception, errors: Any) -> str:
    """How a task was lost."""
    if isinstance(error, errors.OutOfMemoryError):
        return "Ray ended it because its node ran out of memory: set launchers.ray.memory_gb to what a trial needs"
    if isinstance(error, errors.NodeDiedError):
        return "its node was lost"
    return f"its task was lost: {cause(error)}"
