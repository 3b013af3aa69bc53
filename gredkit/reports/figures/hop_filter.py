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
from gredkit.reports.drawing.panels import first_in_row, legend, message, panels, say, wrapped
from gredkit.reports.drawing.spectra import Diameters, Place, Spectrum, by_encoder, chosen, shown_layers
from gredkit.reports.drawing.style import MARKERS, QUIET, themed
from gredkit.reports.drawing.trials import compared, has_scores
from gredkit.reports.figures.base import StudyFigure
from gredkit.reports.study import StudyData

QUANTILES = (0.1, 0.5, 0.9)
DASHES = (0, (3, 1.5))
WEIGHT, DECAY = "weight of the hop\n$\\|M_k\\|_F\\,/\\,\\sqrt{d}$", "decay of the state\n$|\\lambda|^k$"
NONE = "no hop weights and no eigenvalues yet:\nno finished trial with an encoder that has them"
NO_WEIGHTS = "No weights of hops: the encoder has no method hop_weights, or an older gredkit trained it."


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
    diameters: Diameters | None = None,
    variant: str | None = None,
) -> Figure:
    """The weight of hop k above, |λ|^k below, up to the K of the trials; one colour per layer.

    The weight is ‖M_k‖_F / sqrt(d), what hop k adds to the output, as the encoder's `hop_weights` says; |λ|^k alone
    does not tell it. Dashed at the start, solid after training. One column per dataset and encoder: of the given
    variant, or of the one that looks farthest.
    """
    kinds = {
        kind: {spectrum.place: spectrum for spectrum in chosen(results, recorded, diameters or {}, variant)}
        for kind, recorded in ((WEIGHT, hop_weights), (DECAY, eigenvalues))
    }
    if not any(kinds.values()):
        return message(NONE)
    titles = {place: shown.title for of_kind in kinds.values() for place, shown in of_kind.items()}
    places = [place for place, _ in by_encoder(compared(results)) if place in titles]
    layers = sorted({layer for some in kinds.values() for shown in some.values() for layer in shown_layers(shown.rows)})
    colours = dict(zip(layers, sns.color_palette("viridis", len(layers) + 1).as_hex(), strict=False))
    figure, panel_of = _grid(places, [kind for kind, of_kind in kinds.items() if of_kind])
    for (kind, place), axes in panel_of.items():
        shown, above = kinds[kind].get(place), kinds[WEIGHT].get(place)
        _panel(axes, kind, shown, colours)
        title = shown.title if shown else titles[place]
        if kind == WEIGHT or len(places) == 1 or not kinds[WEIGHT] or (above and title != above.title):
            axes.set_title(wrapped(title, 26))
        if len(places) == 1 or first_in_row(axes):
            axes.set_ylabel(kind, parse_math=True)
        if len(places) == 1 or kind == DECAY or not kinds[DECAY].get(place):
            axes.set_xlabel("hop k" if shown else "")
    seeds = max((shown.rows["seed"].nunique() for shown in kinds[WEIGHT].values()), default=0)
    legend(figure, _handles(colours, seeds, bool(kinds[DECAY])))
    return noted(figure, "" if kinds[WEIGHT] else NO_WEIGHTS)


def _grid(places: list[Place], kinds: list[str]) -> tuple[Figure, dict[tuple[str, Place], Axes]]:
    """Panels by kind and place: the kinds below each other, or side by side if there is only one place."""
    count = len(places)
    columns = count if 1 < count <= 4 else len(kinds) if count == 1 else 3 if count in (5, 6, 9) else 4
    cells: list[tuple[str, Place] | None] = []
    for first in range(0, count, columns):
        some = places[first : first + columns]
        for kind in kinds:
            cells += [(kind, place) for place in some]
            cells += [None] * (columns - len(some)) if count > 1 else []
    figure, axes_of = panels(len(cells), 1.45, columns)
    found = {}
    for cell, axes in zip(cells, axes_of, strict=True):
        if cell is None:
            axes.remove()
        else:
            found[cell] = axes
    return figure, found


def _panel(axes: Axes, kind: str, shown: Spectrum | None, colours: Mapping[int, str]) -> None:
    """The lines of every layer of one variant."""
    if shown is None:
        say(axes, wrapped(NO_WEIGHTS, 30, 4) if kind == WEIGHT else "no eigenvalues")
        return
    rows, K = shown.rows, shown.reach
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
