"""What MLflow shows of a study at first sight: scores as metrics, the best variants, and a description."""

import re
from collections.abc import Iterator
from typing import Any

from scipy.special import stdtrit

from gredkit.reports.answer import answers
from gredkit.reports.question import question
from gredkit.reports.samples import LEVEL
from gredkit.reports.statistics import comparisons, leaders
from gredkit.reports.study import StudyData
from gredkit.reports.tables import markdown, summary

FORBIDDEN = re.compile(r"[^\w .-]", re.ASCII)  # characters that are not allowed in the name of a metric or a tag
LONGEST_NAME = 250  # of a metric; MLflow refuses all metrics of a request if one name is longer
COMPARE = (
    "To compare trials, choose the experiment, search for `tags.kind = 'trial' and tags.dataset = '{dataset}'`, "
    "group by `variant`, and look at `best/test` in the chart view."
)


def metrics(study: StudyData) -> dict[str, float]:
    """`test/DATASET/VARIANT` is the mean over seeds; `…/low` and `…/high` are the ends of its own 95 % t interval.

    Variants whose names are too long are left out.
    """
    found = (named for row in summary(study.results).to_dict("records") for named in _of(row))
    return {name: value for name, value in found if len(name) <= LONGEST_NAME}


def best(study: StudyData) -> dict[str, str]:
    """`best/DATASET` is the variant with the best mean, and whether it is better than every other one."""
    rows = leaders(study.results).to_dict("records")
    said = {True: "better than every other variant", False: "not shown to be better than every other variant"}
    return {f"best/{plain(row['dataset'])}": f"{row['variant']} ({said[bool(row['holds'])]})" for row in rows}


def description(study: StudyData, longest: int) -> str:
    """Question, answers, table and how to look further, in Markdown; the table is left out if it is too long."""
    found = answers(study.results, comparisons(study.results))
    told = "".join(f"- **{answer.dataset}** ({answer.metric}): {answer.sentence}\n" for answer in found)
    dataset = found[0].dataset if found else "…"
    above = f"**{question(study) or study.name}**\n\n{told}\n"
    below = f"The report is among the artifacts of this run. {COMPARE.format(dataset=dataset)}\n"
    table = f"{markdown(study.results)}\n"
    return f"{above}{table}{below}" if len(above + table + below) <= longest else f"{above}{below}"[:longest]


def plain(name: Any) -> str:
    """A part of the name of a metric or a tag."""
    return FORBIDDEN.sub("_", str(name))


def _of(row: dict[str, Any]) -> Iterator[tuple[str, float]]:
    name = f"test/{plain(row['dataset'])}/{plain(row['variant'])}"
    if row["n"]:
        yield name, row["mean"]
    if row["n"] > 1:
        reach = -float(stdtrit(row["n"] - 1, LEVEL / 2)) * row["std"] / row["n"] ** 0.5
        yield f"{name}/low", row["mean"] - reach
        yield f"{name}/high", row["mean"] + reach
