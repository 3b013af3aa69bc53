"""Whose eigenvalues and hop weights to show: for each dataset and encoder, those of the variant that looks farthest."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np
import pandas as pd

from gredkit.reports.drawing.trials import compared, k_column, last_hops
from gredkit.trials.state import TrialState

HAVE_EIGENVALUES, HAVE_HOP_WEIGHTS = "setting:layers_with_eigenvalues", "setting:layers_with_hop_weights"
ENCODER = "setting:encoder"
SEEDS = 10  # of more seeds only the first are drawn, or the plane would be full
UNKNOWN = 8  # hops to show if neither K nor the diameter is known
COLUMNS = ["id", "variant", "dataset", "seed", "layer", "moment"]
NUMBERS = ["real", "imag", "weight"]
Place = tuple[str, str]  # a dataset and an encoder
Diameters = Mapping[str, tuple[float, float]]


class Spectrum(NamedTuple):
    """What was recorded of one variant on one dataset, and how many hops it reads."""

    place: Place
    title: str
    rows: pd.DataFrame
    reach: int


def finite(rows: pd.DataFrame) -> pd.DataFrame:
    """The eigenvalues, or hop weights, that are finite."""
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
    """The variant that looks farthest; of several such variants the first."""
    hops = {str(name): reach(some, diameter) for name, some in trials.groupby("variant", sort=False)}
    return max(hops, key=hops.__getitem__)


def by_encoder(trials: pd.DataFrame) -> Iterator[tuple[Place, pd.DataFrame]]:
    """The trials of each dataset and encoder, in order of first appearance; without settings there is one encoder."""
    encoder = trials[ENCODER].fillna("") if ENCODER in trials else pd.Series("", trials.index)
    for (dataset, name), some in trials.groupby(["dataset", encoder], sort=False):
        yield (str(dataset), str(name)), some


def wanted(results: pd.DataFrame, diameters: Diameters, have: str) -> list[str]:
    """The ids of the trials to show among those that `have` some: one variant per dataset and encoder."""
    results = compared(results)
    if have not in results:
        return []
    able = results[(pd.to_numeric(results[have], errors="coerce") > 0) & (results["state"] == TrialState.FINISHED)]
    found: list[str] = []
    for (dataset, _), trials in by_encoder(able):
        best = trials[trials["variant"] == farthest(trials, diameters.get(dataset))]
        found += list(best.sort_values("seed")["id"].head(SEEDS))
    return found


def chosen(
    results: pd.DataFrame, recorded: pd.DataFrame, diameters: Diameters, variant: str | None = None
) -> list[Spectrum]:
    """One spectrum per dataset and encoder: of the given variant, or of the one that looks farthest."""
    results = compared(results)
    known = finite(recorded)
    trials = results[results["id"].isin(known["id"])]
    several = results["variant"].nunique() > 1
    result = []
    for place, here in by_encoder(trials):
        diameter = diameters.get(place[0])
        best = variant or farthest(here, diameter)
        of_best = here[here["variant"] == best]
        if len(of_best):
            title = f"{place[0]}, {best}" if several else place[0]
            result.append(Spectrum(place, title, known[known["id"].isin(of_best["id"])], reach(of_best, diameter)))
    return result


def shown_layers(recorded: pd.DataFrame, most: int = 4) -> list[int]:
    """All layers or, of a deep model, the first, the last and some evenly between."""
    layers = sorted(recorded["layer"].unique())
    places = np.linspace(0, len(layers) - 1, min(most, len(layers))).round().astype(int)
    return [int(layers[place]) for place in places]
