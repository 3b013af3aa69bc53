"""A report as the terminal shows it: the scores, and the most important findings."""

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from gredkit.reports.findings import most_important
from gredkit.reports.page.layout import SCORE, Cell, Grid, grid
from gredkit.reports.paper import FILES, TITLES, missing_models, other_budgets, paper_figures, paper_tables
from gredkit.reports.paper_claims.files import reasons
from gredkit.reports.paper_claims.judge import Judged
from gredkit.reports.paper_claims.outcome import Outcome
from gredkit.reports.statistics import comparisons
from gredkit.reports.study import StudyData
from gredkit.reports.summary import sentences
from gredkit.reports.tables import summary
from gredkit.system.printing import print_table, room, say, say_command
from gredkit.tracking.runs import Known

ABOUT_PAPER = (
    "Sizes are numbers of parameters. Of several budgets here, the one with the most epochs is shown: epochs, runs and "
    "steps are its own. Numbers of different budgets are no comparison on equal terms."
)
MOST = 60  # rows of a table; a screen has no room for more
WIDEST_NAME = 40  # columns of a variant's name; a longer one wraps
GAP = 3  # columns between two columns


def show(study: StudyData, console: Console) -> None:
    """Print the scores and the three most important findings; the report has the rest."""
    laid = grid(summary(study.results))
    say(console, "")
    for columns in _tables(laid, console):
        _print(laid, columns, console)
    say(console, " ".join(laid.notes))
    say(console, "")
    compared = comparisons(study.results)
    found = most_important(study.results, compared)
    for number, finding in enumerate(found, 1):
        say(console, f"{number}. {finding}", indent=3)
    left = len(sentences(study.results, compared)) - len(found)
    if found and left > 0:
        say(console, f"The report has {left:,} more {'sentence' if left == 1 else 'sentences'} about this study.")


def show_claims(claims: Sequence[Judged], missing: Sequence[str], console: Console) -> None:
    """Print each claim of the paper with its verdict, then what the verdicts of those that were run rest on.

    missing: the studies that were not run
    """
    rows = [[f"{one.claim.number}. {one.claim.sentence}", one.verdict] for one in claims]
    print_table(console, ("claim of the paper", "verdict here"), rows)
    for text in reasons([one for one in claims if one.outcome != Outcome.NOT_RUN]):
        say(console, text)
    for study in missing:
        say_command(console, "to run it", f"python -m gredkit.run --gin ablations/real/{study}.gin --data FOLDER")
    say(console, "")


def show_paper(trials: Sequence[Known], console: Console) -> None:
    """Print what of the paper was run, table by table, and how to run the rest."""
    there = numbers = 0
    for label, title, rows in paper_tables(trials):
        run = sum(bool(row.here) for row in rows)
        there, numbers = there + run, numbers + len(rows)
        say(console, f"{title}. {run} of {len(rows)} numbers have runs here.")
        for dataset in dict.fromkeys(row.dataset for row in rows):
            say(console, f"{dataset}:")
            print_table(console, TITLES, [row.cells() for row in rows if row.dataset == dataset])
        for sentence in other_budgets(rows):
            say(console, sentence)
        if run < len(rows):
            for study in FILES[label]:
                say_command(console, "to run it", f"python -m gredkit.run --gin ablations/paper/{study}.gin")
        say(console, "")
    for title, study, told in paper_figures(trials):
        say(console, f'Figure "{title}" (no printed numbers), run here: {told}.')
        say_command(console, "to run it", f"python -m gredkit.run --gin ablations/paper/{study}.gin")
    say(console, f"{there} of {numbers} numbers of the paper have runs here. {ABOUT_PAPER}")
    say(console, f"Published numbers only, no model in gredkit: {', '.join(missing_models())}.")


def _tables(laid: Grid, console: Console) -> list[list[int]]:
    """The columns of each table that is shown: the scores, and of a single dataset also what it cost.

    Where the scores of all datasets do not fit side by side, they are shown in several tables.
    """
    if _is_single(laid):
        return [list(range(len(laid.columns)))]
    names = min(max((len(row[0].text) for row in laid.rows), default=0), WIDEST_NAME)
    tables: list[list[int]] = []
    left = 0
    for place in (place for place, (group, _) in enumerate(laid.columns) if group == SCORE):
        width = _width(laid, place, console.is_terminal) + GAP
        if not tables or width > left:
            tables.append([])
            left = room(console) - names - GAP
        tables[-1].append(place)
        left -= width
    return tables


def _width(laid: Grid, place: int, wraps: bool) -> int:
    """The columns that a score needs; what stands in brackets behind it may wrap in a terminal."""
    texts = [_title(laid, place), *(row[place + 1].text for row in (*laid.rows, *laid.published))]
    return max(len(part) for text in texts for part in (text.replace(" (", "\n(").split("\n") if wraps else [text]))


def _title(laid: Grid, place: int) -> str:
    group, name = laid.columns[place]
    return name if group == SCORE else group


def _is_single(laid: Grid) -> bool:
    return sum(group == SCORE for group, _ in laid.columns) == 1


def _print(laid: Grid, columns: Sequence[int], console: Console) -> None:
    rows = [*laid.rows, *laid.published]
    cells = [[row[0], *(row[place + 1] for place in columns)] for row in rows[:MOST]]
    titles = ["variant", *(_title(laid, place) for place in columns)]
    if console.is_terminal:
        titles = [title.replace(" (", "\n(") for title in titles]
    print_table(console, titles, [[_text(cell, console.is_terminal) for cell in row] for row in cells])
    if len(rows) > MOST:
        say(console, f"… {len(rows) - MOST:,} more rows are in the report.")


def _text(cell: Cell, is_terminal: bool) -> Text:
    """In a terminal, what stands in brackets behind a score has a line of its own."""
    if not is_terminal:
        return Text(f"**{cell.text}**" if cell.bold else cell.text)
    return Text(cell.text.replace(" (", "\n("), style="bold" if cell.bold else "")
