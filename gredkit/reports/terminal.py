"""A report as the terminal shows it: what was found, and the table."""

from rich.console import Console
from rich.markdown import Markdown

from gredkit.reports.statistics import comparisons
from gredkit.reports.study import StudyData
from gredkit.reports.summary import sentences
from gredkit.reports.tables import markdown

MOST = 60  # lines of a table or sentences; a screen has no room for more


def show(study: StudyData, console: Console) -> None:
    """Print the table and the sentences; a pipe gets Markdown."""
    lines = markdown(study.results).splitlines()
    table = "\n".join(_some(lines, "lines"))
    console.print()
    if console.is_terminal:
        console.print(Markdown(table))
    else:
        console.print(table, highlight=False, markup=False, soft_wrap=True)
    console.print()
    for said in _some(sentences(study.results, comparisons(study.results)), "sentences"):
        console.print(said, highlight=False, markup=False, soft_wrap=True)


def _some(lines: list[str], what: str) -> list[str]:
    left = len(lines) - MOST
    return lines if left <= 0 else [*lines[:MOST], "", f"… {left:,} more {what} are in the report."]
