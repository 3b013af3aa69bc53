"""The answer of a study: one sentence per dataset, the variants with the same verdict together."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pandas as pd

from gredkit.reports.numbers import metric_name, several, significant
from gredkit.reports.power import MOST as MOST_SEEDS
from gredkit.reports.question import listed
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


def _sentence(rows: list[Row], leader: Row | None) -> str:
    if leader is None:
        return "No trial has a score yet."
    tested = [row for row in rows if pd.notna(row["difference"])]
    if not tested:
        return f"Only {leader['variant']} has a score: {significant(leader['mean'])} on average."
    return "; ".join(_clauses(tested, str(tested[0]["base"]), len(rows) - len(tested))) + "."


def _clauses(rows: list[Row], base: str, missing: int) -> Iterator[str]:
    """First what is decided, the largest difference first, then what is not."""
    by_size = sorted(rows, key=lambda row: -abs(row["difference"]))
    different = [row for row in by_size if row["verdict"] == Verdict.DIFFERENT]
    for side, word in ((1, "better"), (-1, "worse")):
        if some := [row for row in different if side * row["difference"] > 0]:
            yield f"{_names(some)} {_are(some)} {word} than {base}, {_amounts(some)}"
    if some := [row for row in rows if row["verdict"] == Verdict.EQUIVALENT]:
        yield f"{_names(some)} {_are(some)} equivalent to {base} (within ±{significant(some[0]['margin'], 2)})"
    for verdict, (one, several_of) in UNDECIDED.items():
        if some := [row for row in by_size if row["verdict"] == verdict]:
            yield f"{_names(some)} {one if len(some) == 1 else several_of}{_needed(some)}"
    if missing:
        yield f"{several(missing, 'variant')} cannot be compared yet"


def _names(rows: list[Row]) -> str:
    return listed([str(row["variant"]) for row in rows], "variants", MOST)


def _are(rows: list[Row]) -> str:
    return "is" if len(rows) == 1 else "are"


def _amounts(rows: list[Row]) -> str:
    """By how much; of several the smallest and the largest."""
    sizes = [significant(abs(row["difference"]), 2) for row in rows]
    if len(rows) > 1:
        return f"by {sizes[-1]} to {sizes[0]}" if sizes[-1] != sizes[0] else f"by {sizes[0]}"
    row = rows[0]
    if pd.isna(row["low"]):
        return f"by {sizes[0]}"
    ends = sorted(abs(row[end]) for end in ("low", "high"))
    return f"by {sizes[0]} (95 % interval {significant(ends[0], 2)} to {significant(ends[1], 2)})"


def _needed(rows: list[Row]) -> str:
    """How many seeds would decide, at most, where that is known."""
    needed = [float(row["seeds_needed"]) for row in rows]
    if not all(number > 0 for number in needed):  # not known for some
        return ""
    least, most = min(needed), max(needed)
    if math.isinf(most):
        number = f"more than {MOST_SEEDS:,}" if math.isinf(least) else f"{least:.0f} to more than {MOST_SEEDS:,}"
    else:
        number = f"about {most:.0f}" if least == most else f"{least:.0f} to {most:.0f}"
    return f" ({number} seeds would decide)"
