"""Whose eigenvalues and hop weights to show: of many variants, of the one that looks farthest."""

from collections.abc import Mapping

import numpy as np
import pandas as pd

from gredkit.reports.drawing.trials import compared, k_column, last_hops

HAVE_EIGENVALUES, HAVE_HOP_WEIGHTS = "setting:layers_with_eigenvalues", "setting:layers_with_hop_weights"
SEEDS = 10  # of more seeds only the first are drawn, or the plane would be full
UNKNOWN = 8  # hops to show if neither K nor the diameter is known
COLUMNS = ["id", "variant", "dataset", "seed", "layer", "moment"]
NUMBERS = ["real", "imag", "weight"]


def finite(rows: pd.DataFrame) -> pd.DataFrame:
    """The eigenvalues, or hop weights, that are numbers."""
    if rows.empty:
        return pd.DataFrame(columns=[*COLUMNS, *NUMBERS])
    return rows[np.isfinite(rows[rows.columns.intersection(NUMBERS)].astype(float)).all(axis=1)]


def reach(trials: pd.DataFrame, diameter: tuple[float, float] | None) -> int:
    """How many hops these trials read: K from the axis or from a column K, else the median diameter."""
    column = k_column(trials) or ("K" if "K" in trials else None)
    K = last_hops(trials, column) if column else pd.Series(dtype=float)
    if len(K) and K.notna().all():
        return max(int(K.max()), 1)
    return max(int(diameter[0]), 1) if diameter else max(UNKNOWN, int(K.max()) if K.notna().any() else 0)


def farthest(trials: pd.DataFrame, diameter: tuple[float, float] | None) -> str:
    """Of the variants of a dataset, the one that looks farthest; of several the first."""
    hops = {str(name): reach(some, diameter) for name, some in trials.groupby("variant", sort=False)}
    return max(hops, key=hops.__getitem__)


def wanted(results: pd.DataFrame, diameters: Mapping[str, tuple[float, float]], have: str) -> list[str]:
    """The ids of the trials of which these are shown: of those that `have` some, one variant a dataset."""
    results = compared(results)
    if have not in results:
        return []
    able = results[(pd.to_numeric(results[have], errors="coerce") > 0) & (results["state"] == "finished")]
    found: list[str] = []
    for dataset, trials in able.groupby("dataset", sort=False):
        best = trials[trials["variant"] == farthest(trials, diameters.get(dataset))]
        found += list(best.sort_values("seed")["id"].head(SEEDS))
    return found


def chosen(
    results: pd.DataFrame,
    recorded: pd.DataFrame,
    diameters: Mapping[str, tuple[float, float]],
    variant: str | None = None,
) -> list[tuple[str, pd.DataFrame, int]]:
    """Title, what was recorded and reach, a dataset each: of the given variant, or of the one that looks farthest."""
    results = compared(results)
    known = finite(recorded)
    trials = results[results["id"].isin(known["id"])]
    several = results["variant"].nunique() > 1
    result = []
    for dataset, here in trials.groupby("dataset", sort=False):
        best = variant or farthest(here, diameters.get(dataset))
        of_best = here[here["variant"] == best]
        if len(of_best):
            title = f"{dataset}, {best}" if several else str(dataset)
            rows = known[known["id"].isin(of_best["id"])]
            result.append((title, rows, reach(of_best, diameters.get(dataset))))
    return result


def shown_layers(recorded: pd.DataFrame, most: int = 4) -> list[int]:
    """All layers, or, of a deep model, the first, the last and some evenly between."""
    layers = sorted(recorded["layer"].unique())
    places = np.linspace(0, len(layers) - 1, min(most, len(layers))).round().astype(int)
    return [int(layers[place]) for place in places]
