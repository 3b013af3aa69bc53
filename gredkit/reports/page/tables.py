"""The tables of the page: one row per variant and dataset, and one row per trial."""

from collections.abc import Iterator
from itertools import product
from typing import Any

import pandas as pd

from gredkit.reports.again import run_address, trial_command
from gredkit.reports.claims import wins
from gredkit.reports.numbers import NOTHING, p_value, several, significant
from gredkit.reports.page.html import SCREEN, Column, Html, folded, joined, number, sortable, tag
from gredkit.reports.page.layout import PUBLISHED, SCORE, Grid, costs, grid, published_models
from gredkit.reports.power import about
from gredkit.reports.published import reference
from gredkit.reports.statistics import GROUP, TASK
from gredkit.reports.study import StudyData
from gredkit.reports.summary import about_intervals
from gredkit.reports.timing import why_no_times
from gredkit.trials.state import TrialState

Row = dict[str, Any]
Titles = dict[tuple[str, ...], str]  # of each dataset and metric
MINUS = "\N{MINUS SIGN}"  # as in the figures
MOST = 1000  # rows of a table; the files beside the page have all
FEW = 50  # trials that are seen without a click
DIFFERENCES = (Column("difference to base", True), Column("P(A > B)", True), Column("p (corrected)", True))
AGAIN = Column("again", is_for_screen=True)
DIFFERENCE = (
    "+ is better, with its interval in brackets; bold where the interval excludes 0 and there are at least five seeds. "
    "P(A > B): how often a run of the variant beats one of the base; in brackets on how many seeds it does. "
    "p: from a t test, times the number of comparisons (Bonferroni). Equivalent: within the margin, by two one-sided "
    "tests. Open: in brackets how many seeds would decide. comparisons.csv also has effect sizes."
)
MEASURED = {
    "test": "test",
    "train": "training",
    "validation": "validation",
    "epoch": "best epoch",
    "seconds": "seconds",
}


def scores(summary: pd.DataFrame, comparisons: pd.DataFrame) -> Html:
    """Mean and spread, difference to the base, costs; then what a reader must know."""
    laid = grid(summary)
    if not laid.rows:
        return joined(tag("p", note) for note in laid.notes)
    notes = [*laid.notes, *laid.cost_notes]
    if len(comparisons):
        notes.append(f"Difference: to {', '.join(comparisons['base'].unique())}, {DIFFERENCE}")
    if comparisons["difference_now"].notna().any():
        notes.append(
            "A difference counts as it was when it was decided; 'all seeds' is what it is between the means here."
        )
    if comparisons["low"].notna().any():
        notes.append(about_intervals(int(comparisons["tests"].iloc[0])))
    if len(summary) > MOST:
        notes.append(f"These are the first {MOST:,} of {len(summary):,} rows; table.csv has all.")
    tasks = summary[TASK].drop_duplicates().itertuples(index=False, name=None)
    titles = {task: title for task, (_, title) in zip(tasks, laid.columns, strict=False)}  # in the order of the grid
    numbers = list(dict.fromkeys(group for group, _ in laid.columns))[1:]  # beside the test score
    columns = (
        *(Column("dataset"), Column("variant"), Column("verdict"), Column(SCORE, True), Column("seeds", True)),
        *(*DIFFERENCES, *(Column(name, True) for name in numbers), AGAIN),
    )
    rows = [
        *_variants(summary.head(MOST), comparisons, laid, titles, list(costs(summary))),
        *_published(published_models(summary), titles, len(numbers)),
    ]
    return joined([sortable(columns, rows, "Test scores"), tag("p", " ".join(notes), class_="notes")])


def _variants(
    summary: pd.DataFrame, comparisons: pd.DataFrame, laid: Grid, titles: Titles, shown: list[str]
) -> Iterator[Html]:
    """The texts are those of the other tables; rows are sorted by the exact numbers."""
    places = {task: place for place, task in enumerate(titles)}
    cells_of = {cells[0].text: cells[1:] for cells in laid.rows}
    compared = {tuple(row[name] for name in GROUP): row for row in comparisons.to_dict("records")}
    bases = set(comparisons[[*TASK, "base"]].itertuples(index=False, name=None))
    for nth, row in enumerate(summary.to_dict("records")):
        group = tuple(row[name] for name in GROUP)
        score, *others = cells_of[str(row["variant"])][places[group[:2]] :: len(places)]  # one of each group
        values = [row[name] for name in [*["train_mean"] * (len(others) > len(shown)), *shown]]
        found = compared.get(group)
        yield tag(
            "tr",
            tag("td", _below(titles[group[:2]])),
            tag("th", row["variant"], scope="row"),
            tag("td", _verdict(found)),
            number(_below(score.text), row["mean"], score.bold),
            number(row["n"], row["n"]),
            *_difference(found, group in bases),
            *(number(cell.text, value) for cell, value in zip(others, values, strict=True)),
            tag("td", tag("a", "how", href=f"#again-{nth}"), class_=SCREEN),
        )


def _difference(row: Row | None, is_base: bool) -> list[Html]:
    """Difference with its interval, P(A > B) and p; a dash where there is nothing to compare."""
    if row is None or pd.isna(row["difference"]):
        return [number("base" if is_base else NOTHING, None), number("", None), number("", None)]
    text = f"{'+' if row['difference'] > 0 else ''}{significant(row['difference'])}"
    if pd.notna(row["low"]):
        text += f" ({significant(row['low'])} to {significant(row['high'])})"
    is_later = pd.notna(row["difference_now"])
    later = [tag("small", f"(all seeds: {significant(row['difference_now'])})".replace("-", MINUS))] * is_later
    corrected = row["p_corrected"]
    p = p_value(corrected).removeprefix("p ").removeprefix("= ") if pd.notna(corrected) else NOTHING
    return [
        number(joined([_below(text.replace("-", MINUS)), *later]), row["difference"], row["holds"]),
        number(_wins(row), row["better"]),
        number(p, corrected),
    ]


def _wins(row: Row) -> Html:
    """How often the variant beats the base, and on how many seeds it does."""
    if pd.isna(row["better"]):
        return Html(NOTHING)
    return _below(f"{row['better']:.2f}{f' ({wins(row)})' if row['pairs'] else ''}")


def _verdict(row: Row | None) -> Html:
    """The verdict and, where it is open, how many seeds would decide."""
    if row is None or pd.isna(row["difference"]):
        return Html()
    needed = row["seeds_needed"]
    return _below(row["verdict"] if pd.isna(needed) else f"{row['verdict']} ({about(needed)} seeds)")


def _below(text: str) -> Html:
    """Text in brackets goes to a line of its own, so that the table fits a screen."""
    first, bracket, rest = text.partition(" (")
    return joined([first, " ", tag("small", f"({rest}")] if bracket else [first])


def _published(models: list[str], titles: Titles, others: int) -> Iterator[Html]:
    """One row per dataset and model of which something is published."""
    for ((dataset, metric), title), model in product(titles.items(), models):
        known = reference(dataset, metric, model)
        if known:
            source = f"table {known.table}" if known.table else known.source
            yield tag(
                "tr",
                tag("td", _below(title)),
                tag("th", f"{known.model}, {PUBLISHED} ({source})", scope="row"),
                tag("td", ""),
                number(_below(f"{known.score} ({known.budget})"), known.mean),
                number(known.runs or "", known.runs),
                *[number("", None)] * (len(DIFFERENCES) + others),
                tag("td", "", class_=SCREEN),
                class_="published",
            )


def trials(study: StudyData, final: pd.DataFrame) -> Html:
    """Every seed, with its run; folded away if there are many."""
    if final.empty:
        return tag("p", "There are no trials yet.")
    rest = ""
    if len(final) > MOST:
        rest = f"These are the first {MOST:,} of {len(final):,} trials; results.parquet has all."
    hidden = {"train"} if not _is_known(final, "train") else set()
    if why_no_times(final[final["score"].notna()]):
        hidden.add("seconds")
    shown = {name: title for name, title in MEASURED.items() if name not in hidden}
    names = [Column("seed", True), Column("state"), *(Column(title, True) for title in shown.values())]
    columns = (Column("dataset"), Column("variant"), *names, Column("run"), AGAIN)
    rows = (_trial(study, row, list(shown)) for row in final.head(MOST).to_dict("records"))
    table = sortable(columns, rows, "All trials")
    title = f"All {several(len(final), 'trial')}" if len(final) > 1 else "1 trial"
    return folded(title, *([tag("p", rest)] if rest else []), table, is_open=len(final) <= FEW)


def _is_known(final: pd.DataFrame, name: str) -> bool:
    return name in final and bool(final[name].notna().any())


def _trial(study: StudyData, row: Row, shown: list[str]) -> Html:
    numbers = {name: pd.to_numeric(row[name], errors="coerce") for name in shown}
    run = row["run"] or ""
    copied = trial_command(study, run) if run else None
    what = f"{row['variant']} on {row['dataset']}, seed {row['seed']}"
    copy = tag("button", "copy", type="button", data_copy=copied, aria_label=f"copy the command of {what}")
    return tag(
        "tr",
        tag("td", row["dataset"]),
        tag("td", row["variant"]),
        number(row["seed"], row["seed"]),
        tag("td", row["state"], class_=None if row["state"] == TrialState.FINISHED else "lost"),
        *(number(_measured(name, value), value) for name, value in numbers.items()),
        tag("td", link(study, run, run[:8])),
        tag("td", copy if run else "", class_=SCREEN),
    )


def _measured(name: str, value: float) -> str:
    return f"{value:.0f}" if name == "epoch" and pd.notna(value) else significant(value)


def link(study: StudyData, run: str, text: str) -> Html:
    """A text with a link to a run, if there is one."""
    address = run_address(study, run)
    return tag("a", text, href=address, title=run) if address else joined([text])
