"""The findings of a study in the order of their importance."""

import math
from typing import Any

import pandas as pd

from gredkit.reports.statistics import leaders
from gredkit.reports.summary import difference, lead


def most_important(results: pd.DataFrame, comparisons: pd.DataFrame, most: int = 3) -> list[str]:
    """First differences that hold, the largest effect first; then who leads each dataset; then what is open."""
    rows = comparisons.to_dict("records")
    hold = sorted((row for row in rows if row["holds"]), key=_size, reverse=True)
    open_ones = sorted((row for row in rows if not row["holds"] and row["pairs"]), key=_size_of_open, reverse=True)
    leading = leaders(results).to_dict("records")
    found = [*map(difference, hold), *map(lead, leading), *map(difference, open_ones)]
    return found[:most]


def _size(row: dict[str, Any]) -> float:
    """How large a difference is beside its spread over seeds; one that is the same on every seed comes first."""
    return math.inf if math.isnan(row["effect"]) else abs(row["effect"])


def _size_of_open(row: dict[str, Any]) -> float:
    return -1.0 if math.isnan(row["effect"]) else abs(row["effect"])
