import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from gredkit import paths, ranges
from gredkit.ablation.jobs import Jobs
from gredkit.ablation.launchers.base import Job, Launcher, Lost, Refused
from gredkit.ablation.launchers.forking.server import INTERRUPTS
from gredkit.errors import UserError, cause
from gredkit.registry import LAUNCHERS
from gredkit.trials.folder import TrialFolder
from gredkit.trials.state import TrialState
from gredkit.trials.trial import Trial

STOP = "stop"  # the file that asks a job to stop
QUEUED = 16  # the default number of jobs on the cluster at a time, because it has other users


@LAUNCHERS.register("slurm")
class Slurm(Launcher):
    """One SLURM job per trial, submitted with submitit; the working folder must be on a shared disk.

    A job continues when the invocation that submitted it ends; the next invocation collects its result.

    partition: partition of the cluster; None is the cluster's default
    hours: time limit of a job
    gpus, cpus, memory_gb: resources of a job
    cluster: 'slurm', or 'local' to run the jobs on this machine as a test
    """

    def __init__(
        self,
        jobs: int,
        partition: str | None = None,
        hours: float = 24.0,
        gpus: int = 1,
        cpus: int = 4,
        memory_gb: float = 16.0,
        cluster: str = "slurm",
    ):
        super().__init__(jobs)
        ranges.positive("hours", hours)
        ranges.positive("memory_gb", memory_gb)
        ranges.whole("gpus", gpus, 0, 1000)
        ranges.whole("cpus", cpus, 1, 10_000)
        self._cpus = cpus
        submitit = _submitit()
        try:
            self._executor = submitit.AutoExecutor(folder=(paths.WORK / "jobs").absolute(), cluster=cluster)
        except RuntimeError as error:
            raise UserError(f"no jobs can be submitted from here ({cause(error)}): use --launcher local") from None
        wanted: dict[str, Any] = {
            "timeout_min": round(60 * hours),
            "cpus_per_task": cpus,
            "mem_gb": memory_gb,
            "gpus_per_node": gpus,
        }
        if cluster == "slurm" and partition:
            wanted["slurm_partition"] = partition
        self._executor.update_parameters(name="gredkit", **wanted)

    @classmethod
    def usual_jobs(cls, trials: Sequence[Trial]) -> Jobs:
        count = max(min(len(trials), QUEUED), 1)
        return Jobs(count, "as jobs of the cluster" if count == QUEUED else "all there are")

    def start(self, folder: Path) -> Job:
        (folder / STOP).unlink(missing_ok=True)
        try:
            job = self._executor.submit(work, str(folder.absolute()), sys.path, self._cpus, self.jobs)
        except Exception as error:  # submitit raises various errors when sbatch fails
            raise Refused(f"the cluster accepts no job ({cause(error)}): correct launchers.slurm.…") from error
        return SlurmJob(job, folder)


class SlurmJob(Job):
    """A job of the cluster."""

    def __init__(self, job: Any, folder: Path):
        self._job, self._folder = job, folder

    def ended(self) -> tuple[TrialState | Lost, str] | None:
        if not self._job.done():
            return None
        try:
            return self._job.result()
        except Exception as error:  # for any reason, including the cluster
            return Lost.KILLED, f"the job {self._job.job_id} ended as {self._job.state}: {cause(error)}"

    def stop(self) -> None:
        (self._folder / STOP).touch()

    def kill(self) -> None:
        self._job.cancel()


def work(path: str, search: list[str], cpus: int, jobs: int) -> tuple[TrialState, str]:
    """The main function of a job, on a machine of the cluster."""
    for number in INTERRUPTS:
        signal.signal(number, signal.SIG_IGN)  # Ctrl-C in a terminal reaches jobs on this machine: the stop file counts
    sys.path[:] = search  # so that the user's own modules are found
    import torch

    from gredkit.ablation.worker import attempt

    torch.set_num_threads(cpus)
    return attempt(TrialFolder(Path(path)), (Path(path) / STOP).exists, jobs)


def _submitit() -> Any:
    try:
        import submitit
    except ImportError:
        raise UserError("SLURM needs submitit: pip install 'gredkit[slurm]'") from None
    return submitit
