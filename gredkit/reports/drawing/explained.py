"""Pictures of one model: what one node hears on its graph, and how linear encoders weigh hops."""

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure
from torch_geometric.data import Data

from gredkit.data.draw import layout
from gredkit.reports.drawing.panels import legend, panels
from gredkit.reports.drawing.style import INK, PALE, QUIET, SMALL, TWO_COLUMNS, looks, themed

NUMBERED = 60  # nodes; in a larger graph the hops are not written into them
LEAST = 1e-3  # of the largest influence; smaller ones have the palest colour


@themed
def draw_node(graph: Data, node: int, nodes: pd.DataFrame, hops: pd.DataFrame, title: str) -> Figure:
    """The graph, each node in the colour of its influence on the ringed one; beside it, the same hop by hop."""
    layers = [name for name in hops if name.startswith("added_in_layer_")]
    figure = Figure(figsize=(TWO_COLUMNS, 3.1 if layers else 2.9), layout="constrained")
    rows = 3 if layers else 2
    grid = figure.add_gridspec(rows, 2, width_ratios=(1.25, 1))
    on_graph = figure.add_subplot(grid[:, 0])
    _graph(figure, on_graph, graph, node, nodes)
    on_graph.set_title(title)
    beside = [figure.add_subplot(grid[row, 1]) for row in range(rows)]
    _bars(beside[0], hops["hop"], hops["share"], "share of the\ninfluence")
    _bars(beside[1], hops["hop"], hops["change_when_hidden"], "change of $h_v$\nwhen hidden")
    if layers:
        known = looks(layers)
        for name, look in known.items():
            beside[2].plot(
                hops["hop"], hops[name], color=look.colour, marker=look.marker, ms=look.size(3), ls=look.line,
                mec="white", mew=0.4, label=name.removeprefix("added_in_").replace("_", " "),
            )  # fmt: skip
        beside[2].set_ylabel("added (exact)\n$\\|M_k z_{v,k}\\|$", parse_math=True)
        beside[2].set_ylim(bottom=0)
        beside[2].legend(fontsize=SMALL, ncols=max(1, len(layers) // 4), labelspacing=0.2, handlelength=1.6)
    last = max(int(hops["hop"].max()), 1)
    for axes in beside:
        axes.set_xlim(-0.6, last + 0.6)
        axes.locator_params(axis="x", integer=True, nbins=8)
        axes.locator_params(axis="y", nbins=3)
        axes.grid(False, axis="x")
        axes.tick_params(labelbottom=axes is beside[-1])
    beside[-1].set_xlabel("hop k")
    return figure


def _bars(axes: Axes, hop: pd.Series, height: pd.Series, name: str) -> None:
    axes.bar(hop, height, width=0.7, color=sns.color_palette("viridis", 3)[0], lw=0)
    axes.set_ylabel(name, parse_math=True)


def _graph(figure: Figure, axes: Axes, graph: Data, node: int, nodes: pd.DataFrame) -> None:
    place, share = layout(graph), nodes["share"].to_numpy(float)
    size = float(np.clip(4200 / max(len(place), 1), 14, 190))
    lines = place[graph.edge_index.T.numpy()]
    axes.add_collection(LineCollection(lines, colors="#a1a1aa", linewidths=max(size / 170, 0.35), zorder=1))
    top = max(share.max(), np.finfo(float).tiny)
    low = max(share.min(), LEAST * top)
    colours = LogNorm(low if low < top else LEAST * top, top)
    points = axes.scatter(
        place[:, 0], place[:, 1], s=size, c=np.maximum(share, low), norm=colours, cmap="viridis_r",
        edgecolors=PALE, linewidths=0.5, zorder=3,
    )  # fmt: skip
    axes.scatter(
        place[node, 0], place[node, 1], s=2.4 * size, facecolors="none", edgecolors=INK, linewidths=1.4, zorder=4
    )
    if len(place) <= NUMBERED:
        for (x, y), hop, one in zip(place, nodes["hop"], share, strict=True):
            colour = "white" if colours(max(one, low)) > 0.45 else INK
            axes.text(x, y, "" if hop < 0 else str(hop), ha="center", va="center_baseline", fontsize=SMALL - 1,
                      color=colour, zorder=5)  # fmt: skip
    axes.set_aspect("equal")
    axes.margins(0.1)
    axes.axis("off")
    bar = figure.colorbar(
        points,
        ax=axes,
        location="bottom",
        shrink=0.75,
        pad=0.02,
        aspect=30,
        extend="min" if share.min() < low else "neither",
    )
    bar.set_label("share of the influence on the ringed node; numbers: hops" if len(place) <= NUMBERED
                  else "share of the influence on the ringed node")  # fmt: skip
    bar.outline.set_visible(False)
    bar.ax.minorticks_off()
    bar.ax.xaxis.set_major_formatter("{x:g}")


@themed
def draw_filter(weights: pd.DataFrame) -> Figure:
    """The weight of each hop in each layer whose encoder is linear."""
    figure, (axes,) = panels(1, 1.9)
    known = looks(f"layer {layer}" for layer in weights["layer"])
    for (name, look), (_, some) in zip(known.items(), weights.groupby("layer"), strict=True):
        axes.plot(
            some["hop"], some["weight"], color=look.colour, marker=look.marker, ms=look.size(3.4), ls=look.line,
            mec="white", mew=0.4, label=name, markevery=max(len(some) // 12, 1),
        )  # fmt: skip
    axes.set(
        xlabel="hop k",
        ylim=(0, 1.08 * weights["weight"].max()),
    )
    axes.set_ylabel("weight of the hop\n$\\|M_k\\|_F\\,/\\,\\sqrt{d}$", parse_math=True)
    axes.axhline(0, color=QUIET, lw=0.5)
    axes.locator_params(axis="x", integer=True, nbins=8)
    legend(figure, axes.get_lines()[: len(known)])
    return figure
