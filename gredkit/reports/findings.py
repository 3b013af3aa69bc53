"""The findings of a study in the order of their importance."""

import math
from typing import Any

import pandas as pd

from gredkit.reports.claims import difference
from gredkit.reports.statistics import leaders
from gredkit.reports.summary import lead
from gredkit.reports.verdicts import Verdict

SHOWN = (Verdict.DIFFERENT, Verdict.EQUIVALENT, Verdict.SUGGESTED, Verdict.OPEN)


def most_important(results: pd.DataFrame, comparisons: pd.DataFrame, most: int = 3) -> list[str]:
    """What is best and what is shown to be worse, by dataset; differences, the largest effect first; leads over nobody;
    what is equivalent; what is suggested or open.
    """
    rows = sorted(comparisons.to_dict("records"), key=_size, reverse=True)
    told = {verdict: [difference(row) for row in rows if row["verdict"] == verdict] for verdict in SHOWN}
    leading = leaders(results).to_dict("records")
    shown, others = ([lead(row) for row in leading if bool(row["worse"]) == is_shown] for is_shown in (True, False))
    found = [*shown, *told[Verdict.DIFFERENT], *others, *(said for verdict in SHOWN[1:] for said in told[verdict])]
    return found[:most]


def _size(row: dict[str, Any]) -> float:
    """How large a difference is beside its spread over seeds; one that is the same on every seed comes first."""
    return (math.inf if row["difference"] else 0.0) if math.isnan(row["effect"]) else abs(row["effect"])
