"""One call of `python -m gredkit.run`: plan, train, track, report."""

from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock, Timeout
from rich.console import Console

from gredkit import paths
from gredkit.ablation.launchers.base import Launcher
from gredkit.ablation.plan import Plan, after_tuning, make_plan, repeats
from gredkit.ablation.preflight import check_folders
from gredkit.ablation.progress import TrialProgress
from gredkit.ablation.runner import Runner, sort_out
from gredkit.ablation.screen import Screen
from gredkit.config import gin_files
from gredkit.config.source import Source
from gredkit.errors import UserError
from gredkit.registry import LAUNCHERS
from gredkit.system import printing
from gredkit.tracking.forwarder import Forwarder
from gredkit.tracking.sending import send_anew
from gredkit.tracking.store import StoreError
from gredkit.tracking.tracker import Tracker
from gredkit.trials.folder import TrialFolder, trial_folders
from gredkit.trials.state import BROKEN, ENDED, UNDECIDED, TrialState

PATIENCE = 60.0  # seconds to wait at the end until MLflow has everything


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


@dataclass(frozen=True)
class Ended:
    """The result of an invocation."""

    trials: list[TrialProgress]
    tracker: Tracker
    interrupted: bool
    unsent: int  # trials that are not completely in MLflow

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
    launcher = _launcher(plan, options, say)
    check_folders(plan.trials, options.work, options.reports)
    with _alone(options.work, plan.study):
        tracker = Tracker(plan.study, options.tracking_uri)
        if repaired := tracker.repair():
            say(f"{repaired} runs that a crash had left running are marked as interrupted")
        try:
            tracker.begin(options.command, [gin_files.find(file) for file in source.files])
            tracker.add_plan(plan.trials, plan.is_tuning)
            _send_leftovers(tracker, options.work, say)
            return _train_all(plan, launcher, tracker, options, console, say)
        except BaseException:  # do not leave a run that looks as if it were still running
            with suppress(StoreError):
                tracker.abandon()
            raise


def _launcher(plan: Plan, options: Options, say: Callable[[str], None]) -> Launcher:
    """The launcher, with the number of jobs that the user gave or, by default, that the launcher chooses."""
    kind: type[Launcher] = LAUNCHERS[options.launcher]  # type: ignore[assignment]
    jobs = options.jobs
    if jobs is None:
        chosen = kind.usual_jobs(plan.trials)
        say(str(chosen))
        jobs = chosen.count
    return plan.source.load().component(LAUNCHERS, options.launcher)(jobs)


def _train_all(
    plan: Plan, launcher: Launcher, tracker: Tracker, options: Options, console: Console, say: Callable[[str], None]
) -> Ended:
    """Train the trials of the plan and, if it is a tuning plan, then the final trials."""
    forwarder = Forwarder(tracker, say)
    runner = Runner(launcher, tracker, forwarder, options.work)
    trials: list[TrialProgress] = []

    def train(plan: Plan) -> None:
        done = {one.trial.id: one for one in trials}
        planned = sort_out(plan.trials, tracker, options.retry, done)
        say(_announcement(plan, planned))
        if any(one.state == TrialState.WAITING for one in planned):
            launcher.prepare()
        with Screen(console, planned, launcher.jobs) as screen:
            runner.run(planned, screen)
        trials.extend(planned)

    try:
        train(plan)
        if plan.is_tuning and any(one.state in UNDECIDED for one in trials):
            say("settings are chosen when all tuning trials have ended: run the same command again")
        elif plan.is_tuning:
            forwarder.flush(PATIENCE)
            scores = {one.trial.id: one.validation for one in trials if one.state == TrialState.FINISHED}
            final = after_tuning(plan, lambda trial: scores.get(trial.id))
            tracker.add_plan(final.trials, final.is_tuning)
            train(final)
    finally:
        unsent = forwarder.close(0.0 if runner.is_impatient else PATIENCE)
    try:
        tracker.end(Counter(one.state for one in trials))
    except StoreError as error:
        say(f"{error}; run the same command again to repair this")
        unsent = max(unsent, 1)
    if runner.refusal is not None:
        raise runner.refusal
    return Ended(trials, tracker, runner.was_interrupted, unsent)


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


def _announcement(plan: Plan, trials: Iterable[TrialProgress]) -> str:
    counts = Counter(one.state for one in trials)
    kind = "tuning trials" if plan.is_tuning else "trials"
    said = [f"{plan.study}: {len(plan.trials)} {kind}"]
    said += [f"{counts[state]} {state} before" for state in ENDED if counts[state]]
    said += [f"{counts[TrialState.ELSEWHERE]} running elsewhere"] if counts[TrialState.ELSEWHERE] else []
    said += [repeats(plan)] if plan.repeated else []
    said += [f"{plan.to_come} trials to come with what is chosen"] if plan.to_come else []
    retry = " (--retry trains failed ones again)" if any(counts[state] for state in BROKEN) else ""
    return ", ".join(said) + retry


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
