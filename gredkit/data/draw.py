"""Draw a graph, coloured by the distance to one of its nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from torch_geometric.data import Data

from gredkit.data.hops.index import add_hops

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BEYOND = "#e4e4e7"  # the colour of nodes beyond hop K, or not reachable
INK = "#27272a"


def distances(data: Data, node: int, K: int | None) -> np.ndarray:
    """The number of hops from `node` to each node; -1 beyond K. Shape: -> [nodes]"""
    graph = add_hops(data, K)
    start = int(graph.hop_seq_length[:node].sum())
    ends = graph.hop_set_size.cumsum(0)
    result = np.full(graph.num_nodes, -1)
    for hop, s in enumerate(graph.hop_seq_set[start : start + int(graph.hop_seq_length[node])]):
        result[graph.hop_set_member[ends[s] - graph.hop_set_size[s] : ends[s]]] = hop
    return result


def layout(data: Data) -> np.ndarray:
    """Positions of the nodes: their own, or ones whose distances resemble the numbers of hops."""
    import networkx as nx
    from torch_geometric.utils import to_networkx

    if data.pos is not None and data.pos.shape[1] == 2:
        position = data.pos.double().numpy() * [1, -1]
        return position / max(np.ptp(position), 1e-9)
    graph = to_networkx(Data(edge_index=data.edge_index, num_nodes=data.num_nodes), to_undirected=True)
    small = data.num_nodes <= 600
    place = nx.kamada_kawai_layout(graph) if small else nx.spring_layout(graph, seed=0)
    return _lying(np.array([place[v] for v in range(data.num_nodes)]))


def _lying(place: np.ndarray) -> np.ndarray:
    """The positions rotated so that the longest extent is horizontal."""
    place = place - place.mean(0)
    axes = np.linalg.svd(place, full_matrices=False)[2] if len(place) > 1 else np.eye(2)
    return place @ (axes * np.sign(axes.sum(1, keepdims=True) + 1e-12)).T


def draw(data: Data, node: int, K: int | None, title: str) -> Figure:
    """The graph with each node in the colour of its hop and a ring around the target node."""
    import seaborn as sns
    from matplotlib.collections import LineCollection
    from matplotlib.colors import ListedColormap
    from matplotlib.figure import Figure

    hop, place = distances(data, node, K), layout(data)
    last = max(int(hop.max()), 1)
    colours = ListedColormap(sns.color_palette("viridis_r", last + 1).as_hex())
    wide, high = np.ptp(place, axis=0)
    shape = float(np.clip(high / max(wide, 1e-9), 0.35, 1.6))
    width = 5.4 * min(1, 0.9 / shape)
    figure = Figure(figsize=(width + 1, width * shape + 0.5), dpi=200, layout="constrained")
    axes = figure.add_subplot()
    size = float(np.clip(4000 / max(len(hop), 1), 12, 220))
    if data.edge_index is not None and data.edge_index.numel():
        lines = place[data.edge_index.T.numpy()]
        axes.add_collection(LineCollection(lines, colors="#a1a1aa", linewidths=max(size / 160, 0.35), zorder=1))
    far, near = hop < 0, hop >= 0
    axes.scatter(place[far, 0], place[far, 1], s=size, c=BEYOND, edgecolors="white", linewidths=0.5, zorder=2)
    points = axes.scatter(place[near, 0], place[near, 1], s=size, c=hop[near], cmap=colours, vmin=-0.5, vmax=last + 0.5,
                          edgecolors="white", linewidths=0.5, zorder=3)  # fmt: skip
    axes.scatter(
        place[node, 0], place[node, 1], s=2.6 * size, facecolors="none", edgecolors=INK, linewidths=1.6, zorder=4
    )
    axes.set_aspect("equal")
    axes.margins(0.08)
    axes.axis("off")
    axes.set_title(title, fontsize=11, color=INK)
    step = max(1, (last + 1) // 12)
    bar = figure.colorbar(points, ax=axes, ticks=range(0, last + 1, step), shrink=0.8, pad=0.02)
    bar.set_label("hops from the ringed node", fontsize=10, color=INK)
    bar.outline.set_visible(False)
    if far.any():
        axes.scatter([], [], s=60, c=BEYOND, label=f"beyond K = {K}" if K is not None else "not reachable")
        figure.legend(loc="outside lower left", frameon=False, fontsize=9)
    return figure
