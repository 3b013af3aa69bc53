"""What figures need to know about the frame of results: which trials have a score, and what the axes are."""

from collections.abc import Hashable, Iterable
from typing import Any

import numpy as np
import pandas as pd

from gredkit.registry import METRICS
from gredkit.reports.study import NOT_SET
from gredkit.trials.state import TrialState

COLUMNS = ("id", "variant", "dataset", "seed", "state", "metric", "larger_is_better", "test")
DATASET = "dataset"  # as K: the largest distance of the dataset, of its training split
LAST_HOP = "setting:last_hop"
LAST = (None, NOT_SET)  # values of an axis that have no place among the others


def compared(results: pd.DataFrame) -> pd.DataFrame:
    """The trials that are compared, without those that only chose hyper-parameters."""
    if results.empty:
        return results.reindex(columns=list(dict.fromkeys([*results.columns, *COLUMNS])))
    return results[results["role"] == "final"] if "role" in results else results


def scored(rows: pd.DataFrame) -> pd.DataFrame:
    """The trials that ended with a score."""
    finite = np.isfinite(pd.to_numeric(rows["test"], errors="coerce").astype(float))
    return rows[(rows["state"] == TrialState.FINISHED) & finite]


def has_scores(results: pd.DataFrame) -> bool:
    """Whether some trial that is compared ended with a score."""
    return not scored(compared(results)).empty


def without_score(rows: pd.DataFrame) -> str:
    """How many trials have no score, and why: `2 diverged, 1 failed`; empty if all have one."""
    others = rows.drop(scored(rows).index)
    states = others["state"].replace(TrialState.FINISHED.value, "without a score")
    return ", ".join(f"{count} {state}" for state, count in states.value_counts(sort=False).items())


def mean_and_deviation(values: Iterable[float]) -> tuple[float, float]:
    """Mean and standard deviation over seeds; one seed has no deviation (0)."""
    numbers = np.asarray(list(values), dtype=float)
    return float(numbers.mean()), float(numbers.std(ddof=1)) if len(numbers) > 1 else 0.0


def score_name(rows: pd.DataFrame, split: str = "test") -> str:
    """The label of an axis: the metric of a dataset and which direction is better, as in `test MAE ↓`."""
    known = rows.dropna(subset=["metric"])
    if known.empty:
        return f"{split} score"
    metric = str(known["metric"].iloc[0])
    return f"{split} {METRICS.label(metric)} {'↑' if larger_is_better(rows) else '↓'}"


def larger_is_better(rows: pd.DataFrame) -> bool:
    """Whether a larger score is better on the dataset of these trials."""
    known = rows["larger_is_better"].dropna()
    return bool(known.iloc[0]) if len(known) else True


def axis_columns(results: pd.DataFrame) -> list[str]:
    """The columns of the axes along which the study varies something."""
    columns = [name for name in results.columns if str(name).startswith("axis:")]
    return [name for name in columns if len(values(results[name])) > 1] or columns[:1]


def changes_together(results: pd.DataFrame, one: str, other: str) -> bool:
    """Whether two axes were combined pair by pair, instead of each value with each."""
    pairs = {(plain(a), plain(b)) for a, b in zip(results[one], results[other], strict=True)}
    sizes = len(values(results[one])), len(values(results[other]))
    return len(pairs) <= max(sizes) < sizes[0] * sizes[1]


def has_base(results: pd.DataFrame) -> bool:
    """Whether the first variant leaves all axes alone, so that the others are changes of it."""
    columns = [name for name in results.columns if str(name).startswith("axis:") and axis_name(name) != "K"]
    return bool(columns) and len(results) > 0 and bool((results[columns].iloc[0] == NOT_SET).all())


def axis_name(column: str) -> str:
    """What an axis is called: `encoder` for `axis:variant.encoder`."""
    return column.removeprefix("axis:").rpartition(".")[2]


def k_column(results: pd.DataFrame) -> str | None:
    """The column of the axis K, if the study has one."""
    return next((name for name in results.columns if str(name).startswith("axis:") and axis_name(name) == "K"), None)


def last_hops(trials: pd.DataFrame, column: str) -> pd.Series:
    """The last hop of each trial: K, or what K = 'dataset' came to; NaN for each graph's own diameter."""
    K = pd.to_numeric(trials[column], errors="coerce").astype(float)
    if LAST_HOP not in trials:
        return K
    return K.mask(trials[column] == DATASET, pd.to_numeric(trials[LAST_HOP], errors="coerce"))


def plain(value: Any) -> Hashable:
    """The value of an axis as the user wrote it: None for the NaN of a frame, 4 for 4.0."""
    if value is None or (isinstance(value, float | np.floating) and np.isnan(value)):
        return None
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return int(value)
    value = value.item() if isinstance(value, np.generic) else value
    return value if isinstance(value, Hashable) else repr(value)


def values(column: pd.Series) -> list[Hashable]:
    """The values along an axis: numbers from small to large, others in order of first appearance; None comes last.

    After them comes `NOT_SET`, if some trials leave the axis alone.
    """
    found = list(dict.fromkeys(map(plain, column)))
    rest = [value for value in found if value not in LAST]
    if all(map(is_number, rest)):
        rest.sort(key=float)  # type: ignore[arg-type]
    return rest + [value for value in LAST if value in found]


def is_number(value: Hashable) -> bool:
    """Whether a value has a place on a scale of numbers."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def is_numeric(column: pd.Series) -> bool:
    """Whether an axis is a scale of numbers; None and `NOT_SET` may stand among them."""
    rest = [value for value in values(column) if value not in LAST]
    return bool(rest) and all(map(is_number, rest))


def written(value: Hashable) -> str:
    """A value of an axis as text."""
    return f"{value:g}" if is_number(value) and abs(float(value)) < 1e5 else str(value)  # type: ignore[arg-type]
