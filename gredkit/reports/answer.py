"""The answer of a study, per dataset: what is best, then how variants differ from the base, by their verdict."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pandas as pd

from gredkit.reports.claims import is_small, missed
from gredkit.reports.numbers import metric_name, several, significant
from gredkit.reports.power import about
from gredkit.reports.question import some_of
from gredkit.reports.statistics import TASK, final, leaders
from gredkit.reports.verdicts import Verdict

MOST = 4  # variants that a sentence names
UNDECIDED = {  # what is said about one variant, and about several
    Verdict.SUGGESTED: ("seems to differ", "seem to differ"),
    Verdict.OPEN: ("is not decided", "are not decided"),
    Verdict.UNTESTED: ("has too few seeds for a test", "have too few seeds for a test"),
}
Row = dict[str, Any]


@dataclass(frozen=True)
class Answer:
    """What the study says about one dataset, and how many of its comparisons are decided."""

    dataset: str
    metric: str
    sentence: str
    decided: int
    comparisons: int


def answers(results: pd.DataFrame, compared: pd.DataFrame) -> list[Answer]:
    """One answer per dataset, in the order of the study."""
    leading = {(row["dataset"], row["metric"]): row for row in leaders(results).to_dict("records")}
    found = []
    for task in final(results)[TASK].drop_duplicates().itertuples(index=False, name=None):
        rows = compared[(compared["dataset"] == task[0]) & (compared["metric"] == task[1])].to_dict("records")
        decided = sum(Verdict(row["verdict"]).is_decided for row in rows)
        found.append(Answer(task[0], metric_name(task[1]), _sentence(rows, leading.get(task)), decided, len(rows)))
    return found


def best(leader: Row) -> str:
    """The best mean, and which other variants are shown to be worse: `Best: a (0.90); shown to be worse: b`."""
    name = f"{some_of([str(leader['variant'])], 1)} ({significant(leader['mean'])})"
    if leader["flattered"]:
        return f"Best mean: {name}, without the seeds on which it diverged; {separated(leader)}"
    return f"{'Best' if leader['worse'] else 'Best mean'}: {name}; {separated(leader)}"


def separated(leader: Row, most: int = MOST) -> str:
    """`shown to be worse: b, c; not separated from it: d`."""
    worse, others = (some_of(leader[name], most, ", ") for name in ("worse", "not_worse"))
    if not leader["worse"]:
        return f"not separated from it: {others}"
    if not leader["not_worse"]:
        return f"shown to be worse: {f'all others ({worse})' if leader['rivals'] > 1 else worse}"
    return f"shown to be worse: {worse}; not separated from it: {others}"


def _sentence(rows: list[Row], leader: Row | None) -> str:
    if leader is None:
        return "No trial has a score yet."
    if not leader["rivals"]:
        return f"Only {leader['variant']} has a score: {significant(leader['mean'])} on average."
    tested = [row for row in rows if pd.notna(row["difference"])]
    clauses = "; ".join(_clauses(tested, len(rows) - len(tested)))
    return f"{best(leader)}. Against {rows[0]['base']}: {clauses}."


def _clauses(rows: list[Row], missing: int) -> Iterator[str]:
    """First what is decided, the largest difference first, then what is not."""
    by_size = sorted(rows, key=lambda row: -abs(row["difference"]))
    different = [row for row in by_size if row["verdict"] == Verdict.DIFFERENT]
    for side, word in ((1, "better"), (-1, "worse")):
        if some := [row for row in different if side * row["difference"] > 0]:
            yield f"{_names(some)} {_are(some)} {word}, {_amounts(some)}"
    if some := [row for row in rows if row["verdict"] == Verdict.EQUIVALENT]:
        margin = f"within ±{significant(some[0]['margin'], 2)} {metric_name(some[0]['metric'])}"
        yield f"{_names(some)} {_are(some)} equivalent ({margin}; {missed(min(some, key=lambda row: row['n']))})"
    for verdict, (one, several_of) in UNDECIDED.items():
        if some := [row for row in by_size if row["verdict"] == verdict]:
            yield f"{_names(some)} {one if len(some) == 1 else several_of}{_needed(some)}"
    if missing:
        yield f"{several(missing, 'variant')} cannot be compared yet"


def _names(rows: list[Row]) -> str:
    return some_of([str(row["variant"]) for row in rows], MOST)


def _are(rows: list[Row]) -> str:
    return "is" if len(rows) == 1 else "are"


def _amounts(rows: list[Row]) -> str:
    """By how much; of several the smallest and the largest."""
    metric = metric_name(rows[0]["metric"])
    sizes = [significant(abs(row["difference"]), 2) for row in rows]
    if len(rows) > 1:
        told = f"by {sizes[-1]} to {sizes[0]} {metric}" if sizes[-1] != sizes[0] else f"by {sizes[0]} {metric}"
        return f"{told}{_small(rows)}"
    row = rows[0]
    if pd.isna(row["low"]):
        return f"by {sizes[0]} {metric}"
    ends = sorted(abs(row[end]) for end in ("low", "high"))
    interval = f"95 % interval {significant(ends[0], 2)} to {significant(ends[1], 2)}"
    return f"by {sizes[0]} {metric} ({interval}){_small(rows)}"


def _small(rows: list[Row]) -> str:
    """Which of these differences are certain and still too small to matter."""
    some = [row for row in rows if is_small(row)]
    if not some:
        return ""
    margin = f"the margin of what matters (±{significant(rows[0]['margin'], 2)})"
    if len(some) == len(rows):
        return f", less than {margin}"
    return f", of {_names(some)} less than {margin}"


def _needed(rows: list[Row]) -> str:
    """How many seeds would decide, and of several which variant the fewest, where that is known."""
    known = [(float(row["seeds_needed"]), row) for row in rows]
    if not all(number > 0 for number, _ in known):  # not known for some
        return ""
    least, first = min(known, key=lambda pair: pair[0])
    fewest, most = about(least), about(max(number for number, _ in known))
    if fewest == most:
        return f" ({most} seeds would decide)"
    return f" ({fewest} to {most.removeprefix('about ')} seeds would decide, the fewest for {_names([first])})"
