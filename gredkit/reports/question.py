"""The question of a study: from the first line of its gin file, or else made from what it varies."""

import re
from collections.abc import Sequence

from gredkit.reports.drawing.trials import axis_columns, axis_name, compared
from gredkit.reports.numbers import several
from gredkit.reports.study import StudyData

HEADER = re.compile(r"\ufeff?\s*#\s*\S+\.gin:\s*(\S.*)")
MOST = 3  # names in a question
LONGEST = 120  # letters of a headline


def question(study: StudyData) -> str:
    """`# ablations/k_hops.gin: how far should a node look? (paper, …)` asks: How far should a node look?"""
    if study.question:
        return study.question
    for text in study.files.values():
        if found := HEADER.match(text):
            asked = re.split(r"(?<=\?)\s|\s\(|\.\s", found[1].strip())[0]
            if len(asked) <= LONGEST:
                return asked[0].upper() + asked[1:]
    trials = compared(study.results)
    if trials.empty:
        return ""
    axes = [axis_name(column) for column in axis_columns(trials)]
    where = listed(list(trials["dataset"].astype(str).unique()), "datasets")
    if axes:
        return f"How does the test score on {where} depend on {listed(axes, 'settings')}?"
    return f"Which variant is best on {where}?"


def listed(names: list[str], kind: str, most: int = MOST) -> str:
    """`one, two and three`; of very many names only how many there are."""
    if len(names) > most:
        return f"{len(names)} {kind}"
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def some_of(names: Sequence[str], most: int, last: str = " and ") -> str:
    """`one, two and three`, or `one, two and 7 others`; names with a comma of their own stand in quotation marks."""
    told = [f"“{name}”" for name in names] if any("," in name for name in names) else list(names)
    if len(told) > most:
        return f"{', '.join(told[:most])} and {several(len(told) - most, 'other')}"
    return last.join([", ".join(told[:-1]), told[-1]] if len(told) > 1 else told)
