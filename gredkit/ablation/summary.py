"""What the user reads when a study has ended."""

import os
import shlex
from collections import Counter
from contextlib import suppress
from pathlib import Path

from rich.console import Console

from gredkit.ablation.first_view import show_in_mlflow
from gredkit.ablation.invocation import Ended, Options
from gredkit.ablation.progress import TrialProgress
from gredkit.ablation.screen import line
from gredkit.errors import UserError, cause
from gredkit.reports.reading import read_study
from gredkit.reports.study import StudyData
from gredkit.reports.terminal import show
from gredkit.reports.write import write_report
from gredkit.system.printing import say, say_command
from gredkit.system.private import shown
from gredkit.tracking.store import StoreError, open_command
from gredkit.trials.state import BROKEN, TrialState

MOST = 10  # broken trials that are listed


def summarise(ended: Ended, options: Options, console: Console) -> bool:
    """Write the report, if one is wanted, say what went wrong, and print the commands that come next.

    Returns whether the report was written, or none was wanted.
    """
    is_written = _report(ended, options, console)
    for sentence in ended.standing:
        say(console, sentence)
    broken = [one for one in ended.trials if one.state in BROKEN]
    for one in broken[:MOST]:
        say(console, line(one))
    if len(broken) > MOST:
        say(console, f"… and {len(broken) - MOST} more trials failed or diverged; the report lists all of them")
    elsewhere = Counter(one.message for one in ended.trials if one.state == TrialState.ELSEWHERE)
    for message, count in elsewhere.items():
        said = f"{count} of the trials {'is' if count == 1 else 'are'} trained elsewhere: {message}"
        say(console, f"{said}; the same command shows the results when it has ended")
    if ended.unsent:
        trials = "1 trial" if ended.unsent == 1 else f"{ended.unsent} trials"
        say(console, f"MLflow does not have all results of {trials} yet: the same command sends the rest")
    say_command(console, "MLflow", open_command(ended.tracker.uri))
    _predict(ended, options, console)
    if ended.interrupted or any(one.state == TrialState.INTERRUPTED for one in ended.trials):
        say_command(console, "go on with", options.command)
    return is_written


def _report(ended: Ended, options: Options, console: Console) -> bool:
    """Write and show the report; a mistake in it does not touch the trials."""
    tracker = ended.tracker
    again = f"python -m gredkit.report --study {shlex.quote(tracker.study)}{_tracking(options)}"
    if options.reports is None:
        say_command(console, "to write a report", again)
        return True
    try:
        study = read_study(tracker, options.distance, benchmarks=True)  # they have just been read
        written = write_report(study, options.reports / tracker.study)
        show(study, console)
        say_command(console, "report", str(written[-1]))
        _show_in_mlflow(ended, study, written, console)
        return True
    except UserError as error:
        say(console, f"there is no report: {error}; the trials are safe")
    except Exception as error:  # of any generator, also the user's own
        said = f"there is no report: {type(error).__name__}: {cause(error)}"
        say(console, f"{said}; the trials are safe, and {again} tries again")
    return False


def _show_in_mlflow(ended: Ended, study: StudyData, written: list[Path], console: Console) -> None:
    try:
        show_in_mlflow(ended.tracker, study, written)
    except StoreError as error:
        say(console, f"MLflow does not have the report: {error}")


def _predict(ended: Ended, options: Options, console: Console) -> None:
    """The run of the best trial on the study's first dataset, and the command that uses its model."""
    best = _best(ended.trials)
    if best is None:
        return
    known = None
    with suppress(StoreError):  # it does not answer any more; there is nothing to use then
        known = ended.tracker.trial(best.trial.id)
    if known is None or known.state != TrialState.FINISHED:
        return
    trial = best.trial
    said = f"best validation score on {trial.dataset}: {trial.variant}, {trial.repetition}"
    say(console, f"{said}, MLflow run {known.run}")
    dataset = trial.settings["dataset"]
    data = trial.settings["datasets.python_dataset.target"] if dataset == "python_dataset" else f"{dataset}"
    split = "" if dataset == "python_dataset" else " --split test"
    modules = "".join(f" --import {shlex.quote(module)}" for module in trial.source.modules)
    folder = f"GREDKIT_DATA={shlex.quote(os.environ['GREDKIT_DATA'])} " if options.own_data else ""
    command = f"python -m gredkit.predict --run {known.run} --data {shlex.quote(data)}{split}{modules}"
    say_command(console, "use its model", f"{folder}{command}{_tracking(options)}")


def _best(trials: list[TrialProgress]) -> TrialProgress | None:
    """Chosen by the validation score: the test score only judges."""
    finished = [
        one
        for one in trials
        if one.state == TrialState.FINISHED and one.trial.role == "final" and one.validation is not None
    ]
    if not finished:
        return None
    here = [one for one in finished if one.trial.dataset == finished[0].trial.dataset]
    choose = max if here[0].trial.larger_is_better else min
    return choose(here, key=lambda one: one.validation or 0.0)


def _tracking(options: Options) -> str:
    return f" --tracking-uri {shlex.quote(shown(options.tracking_uri))}" if options.tracking_uri else ""
