"""Which eigenvalues to show: of many variants, the one that looks farthest."""

from collections.abc import Mapping

import numpy as np
import pandas as pd

from gredkit.reports.figures.trials import compared, k_column

UNKNOWN = 8  # hops to show if neither K nor the diameter is known
COLUMNS = ["id", "variant", "dataset", "seed", "layer", "moment", "real", "imag"]


def finite(eigenvalues: pd.DataFrame) -> pd.DataFrame:
    """The eigenvalues that are numbers."""
    if eigenvalues.empty:
        return pd.DataFrame(columns=COLUMNS)
    return eigenvalues[np.isfinite(eigenvalues["real"].astype(float)) & np.isfinite(eigenvalues["imag"].astype(float))]


def reach(results: pd.DataFrame, ids: pd.Series, diameter: tuple[float, float] | None) -> int:
    """How many hops these trials read: K from the axis or from a column K, else the median diameter."""
    rows = results[results["id"].isin(ids)]
    column = k_column(results) or ("K" if "K" in results else None)
    K = pd.to_numeric(rows[column], errors="coerce") if column else pd.Series(dtype=float)
    if len(K) and K.notna().all():
        return max(int(K.max()), 1)
    return max(int(diameter[0]), 1) if diameter else max(UNKNOWN, int(K.max()) if K.notna().any() else 0)


def chosen(
    results: pd.DataFrame,
    eigenvalues: pd.DataFrame,
    diameters: Mapping[str, tuple[float, float]],
    variant: str | None = None,
) -> list[tuple[str, pd.DataFrame, int]]:
    """Title, eigenvalues and reach, a dataset each: of the given variant, or of the one that looks farthest."""
    results = compared(results)
    known = finite(eigenvalues)
    known = known[known["id"].isin(results["id"])]
    several = known["variant"].nunique() > 1
    order = {name: place for place, name in enumerate(dict.fromkeys(results["variant"]))}
    result = []
    for dataset, rows in known.groupby("dataset", sort=False):
        hops = {name: reach(results, some["id"], diameters.get(dataset)) for name, some in rows.groupby("variant")}
        best = variant or min(hops, key=lambda name: (-hops[name], order[name]))
        if best in hops:
            title = f"{dataset}, {best}" if several else str(dataset)
            result.append((title, rows[rows["variant"] == best], hops[best]))
    return result


def shown_layers(eigenvalues: pd.DataFrame, most: int = 4) -> list[int]:
    """All layers, or, of a deep model, the first, the last and some evenly between."""
    layers = sorted(eigenvalues["layer"].unique())
    places = np.linspace(0, len(layers) - 1, min(most, len(layers))).round().astype(int)
    return [int(layers[place]) for place in places]
