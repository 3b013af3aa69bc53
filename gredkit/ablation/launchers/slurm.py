import io
import logging
import shutil
import sys
import uuid
from collections.abc import Mapping, Sequence
from contextlib import redirect_stderr
from pathlib import Path
from typing import Any

from gredkit import ranges
from gredkit.ablation.jobs import Jobs
from gredkit.ablation.launchers.base import Job, Launcher, Lost, Needs, Refused, wants_gpu
from gredkit.ablation.launchers.cluster.queue import Queue, cancel
from gredkit.ablation.launchers.cluster.shared import STOP
from gredkit.ablation.launchers.cluster.work import work
from gredkit.errors import UserError, cause
from gredkit.registry import LAUNCHERS
from gredkit.system import sealed
from gredkit.system.sealed import Damaged
from gredkit.trials.folder import TrialFolder
from gredkit.trials.state import TrialState
from gredkit.trials.trial import Trial

QUEUED = 16  # the default number of jobs that run at a time, because the cluster has other users
LARGEST = 1000  # jobs in one array: SLURM's default limit is 1001
JOB = "job.json"  # in the trial's folder: the job that trains it
NO_REQUEUE = "no-requeue"  # an option of sbatch
COMPLETED = "COMPLETED"  # also if it stopped before its time limit, and the cluster did not let it start again
TAKEN = ("TIMEOUT", "PREEMPTED", "NODE_FAIL", "BOOT_FAIL")  # a job that ended so is submitted again
DIED = ("FAILED", "OUT_OF_MEMORY", "DEADLINE")


@LAUNCHERS.register("slurm")
class Slurm(Launcher):
    """One SLURM job per trial, submitted with submitit as a job array; the work folder must be on a shared disk.

    A job that reaches its time limit, or loses its machine, saves its state, goes back into the queue and continues. A
    job also continues when the invocation that submitted it ends; the next invocation follows it.

    jobs: how many jobs run at a time
    partition, account, qos, constraint: as sbatch knows them; None is the cluster's default
    hours: time limit of a job
    warning: seconds before the time limit at which a job is asked to save its state
    gpus: of a job; None is one if the study sets `fit.device = 'cuda'`, otherwise none
    cpus, memory_gb: resources of a job
    setup: shell lines that a job runs first, such as 'module load python'
    more: any other option of sbatch, such as {'exclude': 'node7'}
    """

    place = "on the cluster"

    def __init__(
        self,
        jobs: int,
        partition: str | None = None,
        account: str | None = None,
        qos: str | None = None,
        constraint: str | None = None,
        hours: float = 24.0,
        warning: int = 120,
        gpus: int | None = None,
        cpus: int = 4,
        memory_gb: float = 16.0,
        setup: Sequence[str] = (),
        more: Mapping[str, Any] | None = None,
    ):
        super().__init__(jobs)
        ranges.positive("hours", hours)
        ranges.positive("memory_gb", memory_gb)
        ranges.whole("cpus", cpus, 1, 10_000)
        ranges.whole("warning", warning, 1, 86_400)
        if gpus is not None:
            ranges.whole("gpus", gpus, 0, 1000)
        if isinstance(setup, str):
            raise UserError(f"launchers.slurm.setup is a list of shell lines: write ({setup!r},)")
        self._hours, self._cpus, self._gpus, self._queue = hours, cpus, gpus, Queue()
        named = {"partition": partition, "account": account, "qos": qos, "constraint": constraint}
        self._wanted = {
            "slurm_job_name": "gredkit",
            "slurm_time": max(round(60 * hours), 1),
            "slurm_cpus_per_task": cpus,
            "slurm_mem": f"{max(round(1024 * memory_gb), 1)}M",
            "slurm_array_parallelism": jobs,
            "slurm_signal_delay_s": warning,
            "slurm_setup": list(setup) or None,
            "slurm_additional_parameters": {
                **({} if NO_REQUEUE in (more or {}) else {"requeue": True}),
                **(more or {}),
            },
            **{f"slurm_{name}": value for name, value in named.items() if value},
        }
        self._memory, self._executor = memory_gb, None

    @classmethod
    def usual_jobs(cls, trials: Sequence[Trial], settings: Mapping[str, Any]) -> Jobs:
        count = max(min(len(trials), QUEUED), 1)
        return Jobs(count, "as jobs of the cluster" if count == QUEUED else "all there are")

    def resources(self, trial: Trial) -> Needs:
        gpus = int(wants_gpu(trial)) if self._gpus is None else self._gpus
        return Needs(self._cpus, gpus, self._memory, self._hours)

    def check(self) -> None:
        _submitit()
        if shutil.which("sbatch") is None or shutil.which("squeue") is None:
            raise UserError("no jobs can be submitted from here, as there is no sbatch: use --launcher local")

    @property
    def capacity(self) -> int:
        return LARGEST  # the cluster starts them one after the other, `jobs` at a time

    def start(self, folder: Path) -> Job:
        return self.start_all([folder])[0]

    def start_all(self, folders: Sequence[Path]) -> list[Job]:
        """Submit one array for all trials that have no job yet; a trial whose job still runs is followed."""
        numbers = {folder: number for folder in folders if (number := self._left(folder))}
        new = [folder for folder in folders if folder not in numbers]
        for folder in folders:
            (folder / STOP).unlink(missing_ok=True)
        numbers.update(zip(new, self.submit(new), strict=True))
        return [SlurmJob(self, self._queue, folder, numbers[folder]) for folder in folders]

    def submit(self, folders: Sequence[Path]) -> list[str]:
        """The ids of new jobs, one for each trial."""
        if not folders:
            return []
        executor = self._executor or self._make_executor(folders[0])
        arguments = (sys.path, self._cpus, self.jobs, self._hours)
        try:
            with redirect_stderr(io.StringIO()), executor.batch():  # the words of sbatch are in the error, too
                jobs = [executor.submit(work, str(folder.absolute()), *arguments) for folder in folders]
        except Exception as error:  # submitit raises various errors when sbatch fails
            raise Refused(f"the cluster accepts no job ({_refusal(error)}): correct launchers.slurm.…") from error
        for job, folder in zip(jobs, folders, strict=True):
            sealed.write(folder / JOB, {"job": job.job_id})
            self._queue.watch(job.job_id)
        return [job.job_id for job in jobs]

    def _make_executor(self, folder: Path) -> Any:
        """A folder for the jobs of this invocation, so that no file of an older job with the same number is there."""
        gpus = self.resources(TrialFolder(folder).trial()).gpus
        jobs = (folder.parent.parent / "jobs" / uuid.uuid4().hex[:12]).absolute()
        executor = _submitit().AutoExecutor(folder=jobs, cluster="slurm")
        executor.update_parameters(**self._wanted, **({"slurm_gpus_per_node": gpus} if gpus else {}))
        self._executor = executor
        return executor

    def _left(self, folder: Path) -> str | None:
        """The job of an earlier invocation that still trains a trial."""
        try:
            job = str(sealed.unseal((folder / JOB).read_bytes())["job"])
        except (FileNotFoundError, Damaged, KeyError):
            return None
        return job if self._queue.is_known(job) else None


class SlurmJob(Job):
    """A job of the cluster."""

    def __init__(self, launcher: Slurm, jobs: Queue, folder: Path, number: str):
        self._launcher, self._queue, self._folder, self._number = launcher, jobs, folder, number
        self._begun_at = len(TrialFolder(folder).epochs())
        self._is_stopped = False

    def ended(self) -> tuple[TrialState | Lost, str] | None:
        """`Lost` in every case: the runner then looks for what the trial itself has written about its end.

        A job that did not end by itself is submitted again.
        """
        state = self._queue.state(self._number)
        if self._queue.is_active(self._number):
            return None
        how = f"the job {self._number} ended as {state}"
        if not self._is_stopped and (state in TAKEN or (state == COMPLETED and TrialFolder(self._folder).is_stopped())):
            try:
                if self._submitted_again():
                    return None
            except Refused as error:
                return Lost.KILLED, f"{how}, and {error}"
            how += ", before it had trained one more epoch"
        if state == "TIMEOUT":
            how += ": set launchers.slurm.hours to a larger number"
        if state == "OUT_OF_MEMORY":
            how += ": set launchers.slurm.memory_gb to a larger number"
        elif state in DIED:
            how += f": see the files of that name in {self._folder.parent.parent / 'jobs'}"
        return Lost.DIED if state in DIED else Lost.KILLED, how

    def stop(self) -> None:
        self._is_stopped = True
        (self._folder / STOP).touch()

    def kill(self) -> None:
        self._is_stopped = True
        cancel(self._number)

    def _submitted_again(self) -> bool:
        """Submit the trial again if the last job has trained at least one epoch of it."""
        epochs = len(TrialFolder(self._folder).epochs())
        if epochs <= self._begun_at:
            return False
        self._begun_at = epochs
        self._number = self._launcher.submit([self._folder])[0]
        return True


def _refusal(error: Exception) -> str:
    """The last thing that sbatch says, without its name."""
    lines = [line for line in str(error).splitlines() if "error:" in line]
    return lines[-1].rpartition("error:")[2].strip() if lines else cause(error)


def _submitit() -> Any:
    try:
        import submitit
    except ImportError:
        raise UserError("SLURM needs submitit: pip install 'gredkit[slurm]'") from None
    logging.getLogger("submitit").setLevel(logging.CRITICAL)  # it repeats in the terminal what we say ourselves
    return submitit
