"""How far a layer hears: the weight that it gives to each hop, and how fast its state decays."""

from collections.abc import Mapping

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from gredkit.registry import FIGURES
from gredkit.reports.drawing.many import noted
from gredkit.reports.drawing.panels import by, first_in_row, legend, message, panels, say, wrapped
from gredkit.reports.drawing.spectra import chosen, shown_layers
from gredkit.reports.drawing.style import MARKERS, QUIET, themed
from gredkit.reports.drawing.trials import compared, has_scores
from gredkit.reports.figures.base import StudyFigure
from gredkit.reports.study import StudyData

QUANTILES = (0.1, 0.5, 0.9)
DASHES = (0, (3, 1.5))
WEIGHT, DECAY = "weight of the hop\n$\\|M_k\\|_F\\,/\\,\\sqrt{d}$", "decay of the state\n$|\\lambda|^k$"
NONE = "no hop weights and no eigenvalues yet:\nno finished trial with an encoder that has them"
OLDER = "The weights of the hops are missing: these trials were trained before gredkit kept them."
Shown = tuple[str, pd.DataFrame, int]  # title, rows and reach


@FIGURES.register("hop_filter")
class HopFilter(StudyFigure):
    """Weight that each layer gives to each hop, and how fast its state decays."""

    title = "Weight of each hop, and decay of the state"
    caption = (
        "Weight of hop k: ‖M_k‖ / √d, the Frobenius norm of the matrix by which a layer multiplies what it reads at "
        "that hop (for a diagonal linear recurrence M_k = Re[W_out Λ^k W_in]). For normalised rows this is the root "
        "mean square of what the hop adds to an output. The line is the mean over seeds, the band goes from the "
        "smallest to the largest. Decay of the state: the median of |λ|^k over the eigenvalues of a layer; the band "
        "holds 10 % to 90 % of them. It is not the weight, because W_in, W_out and the phases decide how much of a hop "
        "is heard. Dashed: at the start; solid: after training."
    )
    order = 41

    def draw(self, study: StudyData) -> Figure | None:
        if (study.eigenvalues.empty and study.hop_weights.empty) or not has_scores(study.results):
            return None
        return hop_filter(study.results, study.hop_weights, study.eigenvalues, study.diameters)


@themed
def hop_filter(
    results: pd.DataFrame,
    hop_weights: pd.DataFrame,
    eigenvalues: pd.DataFrame,
    diameters: Mapping[str, tuple[float, float]] | None = None,
    variant: str | None = None,
) -> Figure:
    """The weight of hop k above, |λ|^k below, up to the K of the trials; a column a dataset, a colour a layer.

    With M_k = Re[W_out Λ^k exp(γ) W_in] the weight is ‖M_k‖_F / sqrt(d): what hop k adds to the output, which |λ|^k
    alone does not tell. Dashed at the start, solid after training. One variant is shown, the one that looks farthest.
    """
    kinds: dict[str, dict[str, Shown]] = {WEIGHT: {}, DECAY: {}}
    for kind, recorded in ((WEIGHT, hop_weights), (DECAY, eigenvalues)):
        for some in chosen(results, recorded, diameters or {}, variant):
            kinds[kind][str(some[1]["dataset"].iloc[0])] = some
    if not any(kinds.values()):
        return message(NONE)
    datasets = [name for name, _ in by(compared(results), "dataset") if any(name in some for some in kinds.values())]
    drawn = [rows for by_dataset in kinds.values() for _, rows, _ in by_dataset.values()]
    layers = sorted({layer for rows in drawn for layer in shown_layers(rows)})
    colours = dict(zip(layers, sns.color_palette("viridis", len(layers) + 1).as_hex(), strict=False))
    figure, panel_of = _grid(datasets, [kind for kind, by_dataset in kinds.items() if by_dataset])
    for (kind, dataset), axes in panel_of.items():
        shown, above = kinds[kind].get(dataset), kinds[WEIGHT].get(dataset)
        _panel(axes, kind, shown, colours)
        title = shown[0] if shown else dataset
        if kind == WEIGHT or len(datasets) == 1 or not above or title != above[0]:
            axes.set_title(wrapped(title, 26))
        if len(datasets) == 1 or first_in_row(axes):
            axes.set_ylabel(kind)
        if len(datasets) == 1 or kind == DECAY or not kinds[DECAY]:
            axes.set_xlabel("hop k" if shown else "")
    seeds = max((rows["seed"].nunique() for _, rows, _ in kinds[WEIGHT].values()), default=0)
    legend(figure, _handles(colours, seeds, bool(kinds[DECAY])))
    return noted(figure, "" if kinds[WEIGHT] else OLDER)


def _grid(datasets: list[str], kinds: list[str]) -> tuple[Figure, dict[tuple[str, str], Axes]]:
    """Panels by kind and dataset: the kinds below each other, or side by side if there is but one dataset."""
    count = len(datasets)
    columns = count if 1 < count <= 4 else len(kinds) if count == 1 else 3 if count in (5, 6, 9) else 4
    cells: list[tuple[str, str] | None] = []
    for first in range(0, count, columns):
        some = datasets[first : first + columns]
        for kind in kinds:
            cells += [(kind, dataset) for dataset in some]
            cells += [None] * (columns - len(some)) if count > 1 else []
    figure, axes_of = panels(len(cells), 1.45, columns)
    found = {}
    for cell, axes in zip(cells, axes_of, strict=True):
        if cell is None:
            axes.remove()
        else:
            found[cell] = axes
    return figure, found


def _panel(axes: Axes, kind: str, shown: Shown | None, colours: Mapping[int, str]) -> None:
    """The lines of every layer of one dataset."""
    if shown is None:
        say(axes, wrapped(OLDER, 30, 4) if kind == WEIGHT else "no eigenvalues")
        return
    _, rows, K = shown
    lines = _weights if kind == WEIGHT else _decay
    for i, (layer, colour) in enumerate(colours.items()):
        for moment, some in rows[rows["layer"] == layer].groupby("moment", sort=False):
            low, middle, high = lines(some, K)
            hops = np.arange(len(middle))
            if moment == "start":
                axes.plot(hops, middle, color=colour, lw=0.9, ls=DASHES, zorder=2)
                continue
            axes.fill_between(hops, low, high, color=colour, alpha=0.15, lw=0, zorder=1)
            step = max(len(colours), K // 6)  # markers of the layers take turns, where lines lie on each other
            axes.plot(
                hops, middle, color=colour, marker=MARKERS[i % len(MARKERS)], ms=3.8, mec="white", mew=0.4,
                markevery=(min(i * max(step // len(colours), 1), K), step), zorder=3, clip_on=False,
            )  # fmt: skip
    axes.set(xlim=(0, K), ylim=(0, axes.get_ylim()[1] if kind == WEIGHT else max(1.03, axes.get_ylim()[1])))
    axes.locator_params(axis="x", integer=True, nbins=8)


def _weights(rows: pd.DataFrame, K: int) -> np.ndarray:
    """Smallest, mean and largest weight of each hop over the seeds. Shape: -> [3, hops]"""
    by_hop = rows[rows["hop"] <= K].astype({"weight": float}).groupby("hop")["weight"]
    return by_hop.agg(["min", "mean", "max"]).to_numpy().T


def _decay(rows: pd.DataFrame, K: int) -> np.ndarray:
    """Quantiles of |λ|^k over the eigenvalues of all seeds. Shape: -> [3, hops]"""
    size = np.hypot(rows["real"].to_numpy(float), rows["imag"].to_numpy(float))
    return np.quantile(size, QUANTILES)[:, None] ** np.arange(K + 1)  # powers keep the order


def _handles(colours: Mapping[int, str], seeds: int, has_decay: bool) -> list[Artist]:
    """What the legend names: layers, moments, and what the bands are."""
    layers: list[Artist] = [
        Line2D([], [], color=colour, marker=MARKERS[i % len(MARKERS)], mec="white", mew=0.4, label=f"layer {layer + 1}")
        for i, (layer, colour) in enumerate(colours.items())
    ]
    over = [f"weight: range of {seeds} seeds"] if seeds > 1 else []
    over += ["decay: 10 % to 90 % of λ"] if has_decay else []
    return [
        *layers,
        Line2D([], [], color=QUIET, label="after training"),
        Line2D([], [], color=QUIET, ls=DASHES, lw=0.9, label="at the start"),
        *(Patch(color=QUIET, alpha=0.3, lw=0, label=words) for words in over),
    ]
