"""One call of `python -m gredkit.run`: plan, train, track, report."""

from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock, Timeout
from rich.console import Console

from gredkit import paths
from gredkit.ablation.dataset import known_hashes
from gredkit.ablation.launchers.base import Launcher
from gredkit.ablation.launching import launcher_for
from gredkit.ablation.plan import Plan, make_plan
from gredkit.ablation.preflight import check_folders
from gredkit.ablation.progress import TrialProgress
from gredkit.ablation.runner import Runner
from gredkit.ablation.stages import PATIENCE, Stages
from gredkit.config import gin_files
from gredkit.config.source import Source
from gredkit.errors import UserError
from gredkit.system import printing
from gredkit.tracking.forwarder import Forwarder
from gredkit.tracking.sending import send_anew
from gredkit.tracking.store import StoreError
from gredkit.tracking.tracker import Tracker
from gredkit.trials.folder import TrialFolder, trial_folders
from gredkit.trials.state import TrialState


@dataclass(frozen=True)
class Options:
    """Options of a run that do not change its results."""

    command: str
    jobs: int | None = None  # trials side by side; None lets the launcher choose
    tracking_uri: str | None = None
    work: Path = paths.WORK
    retry: bool = False
    launcher: str = "local"
    reports: Path | None = None  # where a report will be written
    own_data: bool = False  # whether --data named the folder of the datasets
    distance: bool = True  # whether the report looks at stored models for the distances they hear


@dataclass(frozen=True)
class Ended:
    """The result of an invocation."""

    trials: list[TrialProgress]
    tracker: Tracker
    interrupted: bool
    unsent: int  # trials that are not completely in MLflow
    standing: tuple[str, ...] = ()  # if the number of seeds is open: what the latest round has decided

    @property
    def exit_code(self) -> int:
        if self.interrupted:
            return 130
        have_results = all(one.state in (TrialState.FINISHED, TrialState.DIVERGED) for one in self.trials)
        return 0 if have_results and not self.unsent else 1


def run_study(source: Source, options: Options, console: Console) -> Ended:
    """Train the trials that are not trained yet, and record them in MLflow."""

    def say(said: str) -> None:
        printing.say(console, said)

    plan = make_plan(source)
    for sentence in plan.unmatched:
        say(sentence)
    launcher = launcher_for(plan, options.launcher, options.jobs, say)
    launcher.check()
    check_folders(plan.trials, options.work, options.reports)
    with _alone(options.work, plan.study):
        tracker = Tracker(plan.study, options.tracking_uri)
        if repaired := tracker.repair():
            say(f"{repaired} runs that a crash had left running are marked as interrupted")
        try:
            tracker.begin(options.command, [gin_files.find(file) for file in source.files])
            tracker.add_hashes(known_hashes(plan.trials))
            _send_leftovers(tracker, options.work, say)
            return _train_all(plan, launcher, tracker, options, console)
        except BaseException:  # do not leave a run that looks as if it were still running
            with suppress(StoreError):
                tracker.abandon()
            raise


def _train_all(plan: Plan, launcher: Launcher, tracker: Tracker, options: Options, console: Console) -> Ended:
    """Train all stages of a study, and wait until MLflow has the results."""
    forwarder = Forwarder(tracker, lambda said: printing.say(console, said))
    runner = Runner(launcher, tracker, forwarder, options.work)
    stages = Stages(launcher, runner, tracker, forwarder, console)
    try:
        stages.train(plan, options.retry)
    finally:
        launcher.close()
        unsent = forwarder.close(0.0 if runner.is_impatient else PATIENCE)
    try:
        tracker.end(Counter(one.state for one in stages.trials))
    except StoreError as error:
        printing.say(console, f"{error}; run the same command again to repair this")
        unsent = max(unsent, 1)
    if runner.refusal is not None:
        raise runner.refusal
    return Ended(stages.trials, tracker, runner.was_interrupted, unsent, tuple(stages.standing))


def _alone(work: Path, study: str) -> FileLock:
    """A lock, because two invocations that write to the same folders would disturb each other."""
    lock = FileLock(work / f"{study}.lock")
    try:
        lock.acquire(timeout=0)
    except Timeout:
        raise UserError(
            f"the study {study!r} is already running here: wait for it, or give this one another --work folder"
        ) from None
    return lock


def _send_leftovers(tracker: Tracker, work: Path, say: Callable[[str], None]) -> None:
    """Send what earlier invocations of this study recorded but could not send; skips running ones."""
    for folder in trial_folders(work, tracker.study):
        try:
            with FileLock(folder.lock, timeout=0):
                for name in folder.mend():
                    say(f"{folder.path / name} was damaged: that part is kept as {name}.damaged, the rest is used")
                if folder.is_open():
                    folder.append("ended", **_end_of(folder))
                if folder.has_trial and send_anew(tracker, folder):
                    folder.remove()
        except Timeout:
            continue
        except (StoreError, OSError) as error:
            if isinstance(error, StoreError) and not error.refused:
                raise
            say(f"trial {folder.path.name}: {error}")


def _end_of(folder: TrialFolder) -> dict[str, str]:
    """The state of a trial whose process died before it could record it."""
    if folder.has_result():
        return {"state": TrialState.FINISHED, "message": ""}
    return {"state": TrialState.INTERRUPTED, "message": "its process was ended from outside"}
