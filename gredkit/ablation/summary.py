"""What the user reads when a study has ended."""

import shlex
from collections import Counter

from rich.console import Console

from gredkit.ablation.invocation import Ended, Options
from gredkit.ablation.screen import line
from gredkit.errors import UserError, cause
from gredkit.reports.reading import read_study
from gredkit.reports.terminal import show
from gredkit.reports.write import write_report
from gredkit.system.private import shown
from gredkit.tracking.store import open_command
from gredkit.trials.state import TrialState


def summarise(ended: Ended, options: Options, console: Console) -> bool:
    """The report if there is a folder for it, what went wrong, and the commands that go on from here.

    Whether there is a report, or none was asked for.
    """
    tracker = ended.tracker
    again = f"python -m gredkit.report --study {shlex.quote(tracker.study)}"
    if options.tracking_uri:
        again += f" --tracking-uri {shlex.quote(shown(options.tracking_uri))}"

    def say(said: str) -> None:
        console.print(said, highlight=False, markup=False, soft_wrap=True)

    is_written = False
    try:
        if options.reports is None:
            say(f"report: none was asked for; {again} writes it")
        else:
            study = read_study(tracker)
            written = write_report(study, options.reports / tracker.study)
            show(study, console)
            say(f"report: {written[-1]}")
        is_written = True
    except UserError as error:
        say(f"there is no report: {error}; the trials are safe")
    except Exception as error:  # whoever wrote the report: the trials are safe
        say(f"there is no report: {type(error).__name__}: {cause(error)}; the trials are safe, and {again} tries again")
    for one in ended.trials:
        if one.state in (TrialState.FAILED, TrialState.DIVERGED):
            say(line(one))
    elsewhere = Counter(one.message for one in ended.trials if one.state == TrialState.ELSEWHERE)
    for message, count in elsewhere.items():
        say(f"{count} of the trials {'is' if count == 1 else 'are'} trained elsewhere: {message}; the same command "
            "shows the results when it has ended")  # fmt: skip
    if ended.unsent:
        say(f"MLflow does not know all of {ended.unsent} trials yet: the same command sends the rest")
    if ended.interrupted or any(one.state == TrialState.INTERRUPTED for one in ended.trials):
        say(f"go on with: {options.command}")
    say(f"MLflow: {open_command(tracker.uri)}")
    return is_written
