"""How far a signal comes: the weight of a hop that the eigenvalues imply."""

from collections.abc import Mapping

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from gredkit.reports.figures.eigenvalues import NONE
from gredkit.reports.figures.panels import first_in_row, legend, message, panels, wrapped
from gredkit.reports.figures.spectra import chosen, shown_layers
from gredkit.reports.figures.style import MARKERS, QUIET, themed

QUANTILES = (0.1, 0.5, 0.9)


@themed
def hop_filter(
    results: pd.DataFrame,
    eigenvalues: pd.DataFrame,
    diameters: Mapping[str, tuple[float, float]] | None = None,
    variant: str | None = None,
) -> Figure:
    """|λ|^k against hop k up to the K of the trials, a panel a dataset, a colour a layer: median and quantiles.

    Dashed at the start, solid after training. The variant is the one that `eigenvalues` shows.
    """
    spectra = chosen(results, eigenvalues, diameters or {}, variant)
    if not spectra:
        return message(NONE)
    layers = sorted({layer for _, rows, _ in spectra for layer in shown_layers(rows)})
    colours = dict(zip(layers, sns.color_palette("viridis", len(layers) + 1).as_hex(), strict=False))
    figure, axes_of = panels(len(spectra))
    for axes, (title, rows, K) in zip(axes_of, spectra, strict=True):
        for layer in shown_layers(rows):
            some = rows[rows["layer"] == layer]
            place = layers.index(layer)
            _weights(axes, some[some["moment"] == "start"], K, colours[layer], None, len(layers))
            _weights(axes, some[some["moment"] == "end"], K, colours[layer], place, len(layers))
        axes.set_title(wrapped(title, 26))
        axes.set(xlim=(0, K), ylim=(0, max(1.03, axes.get_ylim()[1])), xlabel="hop k")
        axes.locator_params(axis="x", integer=True, nbins=8)
        axes.set_ylabel("weight of the hop, $|\\lambda|^k$" if first_in_row(axes) else "")
    handles: list[Artist] = [
        Line2D([], [], color=colour, marker=MARKERS[i % len(MARKERS)], mec="white", mew=0.4, label=f"layer {layer + 1}")
        for i, (layer, colour) in enumerate(colours.items())
    ]
    handles += [
        Line2D([], [], color=QUIET, label="median, after training"),
        Patch(color=QUIET, alpha=0.3, lw=0, label="10 % to 90 % of the eigenvalues"),
        Line2D([], [], color=QUIET, ls=(0, (3, 1.5)), lw=0.9, label="median, at the start"),
    ]
    legend(figure, handles)
    return figure


def _weights(axes: Axes, rows: pd.DataFrame, K: int, colour: str, place: int | None, of: int) -> None:
    """Median of |λ|^k at each hop; after training, with a band of quantiles and a marker for the layer's place."""
    if rows.empty:
        return
    hops = np.arange(K + 1)
    size = np.hypot(rows["real"].to_numpy(float), rows["imag"].to_numpy(float))
    low, middle, high = np.quantile(size, QUANTILES)[:, None] ** hops  # powers keep the order
    if place is None:
        axes.plot(hops, middle, color=colour, lw=0.9, ls=(0, (3, 1.5)), zorder=2)
        return
    axes.fill_between(hops, low, high, color=colour, alpha=0.12, lw=0, zorder=1)
    for edge in (low, high):
        axes.plot(hops, edge, color=colour, lw=0.5, alpha=0.8, zorder=2)
    step = max(of, K // 6)  # markers of the layers take turns, where lines lie on each other
    axes.plot(
        hops, middle, color=colour, marker=MARKERS[place % len(MARKERS)], ms=3.8, mec="white", mew=0.4,
        markevery=(min(place * max(step // of, 1), K), step), zorder=3, clip_on=False,
    )  # fmt: skip
