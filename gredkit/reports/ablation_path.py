"""From the base of a study to its best variant, one change at a time (ablation analysis, Fawcett and Hoos 2016).

The path begins at the first variant and ends at the one with the best mean. At each step, of the factors in which the
two still differ, the one is changed whose change gives the best mean. A full grid has trained all variants on the way.
"""

from typing import Any

import numpy as np
import pandas as pd

from gredkit.reports.comparing import COMPARED, Facts, row
from gredkit.reports.effects import crossed
from gredkit.reports.factors import Design
from gredkit.reports.pairing import scores_by_variant
from gredkit.reports.statistics import GROUP, TASK

STEP = ("step", "factor", "before", "after")
TESTED = ("low", "high", "tests", "method", "verdict", "flattered")
COLUMNS = (*GROUP, *STEP, "mean", "previous", "gain", *TESTED)


def ablation_path(results: pd.DataFrame) -> pd.DataFrame:
    """One row per dataset and step; none where the base is the best variant, or the grid is not full.

    mean: of the variant after the step; previous: of the one before it
    gain: how much better the mean is after the step; low, high: its 95 % interval, simultaneous for all steps
    method, tests, verdict: as in a table of comparisons; the path was chosen by the same scores, so that a gain is
        more likely too large than too small
    """
    steps = [
        (task, here, variant, step)
        for task, here, found in crossed(results)
        if found.is_full
        for variant, step in _steps(found, _means(here, found), bool(here["larger_is_better"].iloc[0]))
    ]
    rows: list[dict[str, Any]] = []
    for task, here, variant, step in steps:
        before = step.pop("from")
        found = row(scores_by_variant(here), variant, before, Facts.of(here), len(steps))
        told = dict(zip(("variant", "base", *COMPARED), found, strict=True))
        rows.append(
            {**dict(zip(TASK, task, strict=True)), "variant": variant, **step, "gain": told["difference"]}
            | {name: told[name] for name in TESTED}
        )
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _means(trials: pd.DataFrame, found: Design) -> np.ndarray:
    return trials.groupby("variant")["score"].mean().reindex(list(found.variants)).to_numpy(float)


def _steps(found: Design, means: np.ndarray, larger: bool) -> list[tuple[str, dict[str, Any]]]:
    """The variant after each step, and what the step changes."""
    better = means if larger else -means
    places = {tuple(point): place for place, point in enumerate(found.points.tolist())}
    if np.isnan(better[0]):
        return []
    best = found.points[int(np.nanargmax(better))].tolist()
    here: list[int] = found.points[0].tolist()
    steps: list[tuple[str, dict[str, Any]]] = []
    while here != best:
        ways = {}
        for factor in (place for place, level in enumerate(best) if here[place] != level):
            there = [*here[:factor], best[factor], *here[factor + 1 :]]
            ways[factor] = places[tuple(there)]
        known = {factor: place for factor, place in ways.items() if np.isfinite(better[place])}
        if not known:
            return []  # no variant on the way has a score
        factor = max(known, key=lambda factor: better[known[factor]])
        before, after, levels = places[tuple(here)], known[factor], found.factors[factor].levels
        step = {
            "step": len(steps) + 1,
            "factor": found.factors[factor].name,
            "before": levels[here[factor]],
            "after": levels[best[factor]],
            "from": found.variants[before],
            "previous": means[before],
            "mean": means[after],
        }
        steps.append((found.variants[after], step))
        here = found.points[after].tolist()
    return steps
