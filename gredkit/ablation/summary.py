"""What the user reads when a study has ended."""

import shlex
from pathlib import Path

from rich.console import Console
from rich.markdown import Markdown

from gredkit.ablation.invocation import Ended, Options
from gredkit.ablation.screen import line
from gredkit.registry import REPORTS
from gredkit.reports.frame import trials_frame
from gredkit.store import StoreError


def summarise(ended: Ended, options: Options, reports: Path, console: Console) -> None:
    """The table, what went wrong, where the report is, and the commands that go on from here."""
    tracker = ended.tracker

    def say(said: str) -> None:
        console.print(said, highlight=False, markup=False, soft_wrap=True)

    path = reports / tracker.study / "table.md"
    try:
        results = trials_frame(tracker)
        if len(results):  # not while it is still tuning
            text = REPORTS["table"](results)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"{text}\n")
            say("")
            console.print(Markdown(text)) if console.is_terminal else say(text)
            say(f"report: {path}")
    except StoreError as error:
        say(f"there is no report: {error}")
    except OSError as error:
        say(f"there is no report, since {path} cannot be written: {error.strerror}")
    for one in ended.trials:
        if one.state in ("failed", "diverged"):
            say(line(one))
    if ended.unsent:
        say(f"MLflow does not know all of {ended.unsent} trials yet: the same command sends the rest, and reports")
    if ended.interrupted or any(one.state == "interrupted" for one in ended.trials):
        say(f"go on with: {options.command}")
    say(f"MLflow: {open_command(tracker.uri)}")


def open_command(uri: str) -> str:
    """The command that shows the runs, or the address where they are."""
    return uri if uri.startswith("http") else f"mlflow ui --backend-store-uri {shlex.quote(uri)}"
