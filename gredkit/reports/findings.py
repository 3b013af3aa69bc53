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
    """Differences, the largest effect first; who leads each dataset; what is equivalent; what is suggested or open."""
    rows = sorted(comparisons.to_dict("records"), key=_size, reverse=True)
    told = {verdict: [difference(row) for row in rows if row["verdict"] == verdict] for verdict in SHOWN}
    leading = [lead(row) for row in leaders(results).to_dict("records")]
    found = [*told[Verdict.DIFFERENT], *leading, *(said for verdict in SHOWN[1:] for said in told[verdict])]
    return found[:most]


def _size(row: dict[str, Any]) -> float:
    """How large a difference is beside its spread over seeds; one that is the same on every seed comes first."""
    return (math.inf if row["difference"] else 0.0) if math.isnan(row["effect"]) else abs(row["effect"])
