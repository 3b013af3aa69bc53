"""Building the hop index of a graph, compared with the usual way: all-pairs distances and one mask per hop."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from rich.table import Table
from scipy.sparse.csgraph import floyd_warshall
from torch import Tensor
from torch_geometric.data import Data

from gredkit import add_hops
from gredkit.bench.graphs import molecules
from gredkit.bench.measure import interleave, milliseconds, show

SIZES = {24: 200, 150: 20, 444: 4}  # nodes per graph: graphs per repeat


def usual_way(data: Data) -> Tensor:
    """Floyd-Warshall on the dense adjacency matrix, then one mask per hop. Shape: -> [diameter + 1, N, N]"""
    assert data.num_nodes is not None
    assert data.edge_index is not None
    adjacency = np.zeros((data.num_nodes, data.num_nodes))
    source, target = data.edge_index.numpy()
    adjacency[source, target] = adjacency[target, source] = 1
    distance = floyd_warshall(adjacency, unweighted=True)
    diameter = int(distance[np.isfinite(distance)].max())
    return torch.from_numpy(np.arange(diameter + 1)[:, None, None] == distance)


def run(quick: bool = False) -> dict[str, Any]:
    """Both ways on one thread, up to the diameter, for each size."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        return {str(nodes): _size(nodes, 1 if quick else count, 1 if quick else 15) for nodes, count in SIZES.items()}
    finally:
        torch.set_num_threads(threads)


def _size(nodes: int, count: int, repeats: int) -> dict[str, Any]:
    graphs = molecules(nodes, count)
    timings = interleave({"gredkit": lambda: _all_hops(graphs), "usual": lambda: _all_masks(graphs)}, repeats)
    timings = {name: timing.per(count) for name, timing in timings.items()}
    return {
        "speedup_vs_usual": timings["usual"].median / timings["gredkit"].median,
        "contestants": {name: milliseconds(timing, "ms_per_graph") for name, timing in timings.items()},
    }


def _all_hops(graphs: Sequence[Data]) -> None:
    for graph in graphs:
        add_hops(graph, None)


def _all_masks(graphs: Sequence[Data]) -> None:
    for graph in graphs:
        usual_way(graph)


def table(result: dict[str, Any]) -> Table:
    """One row per size."""
    shown = Table(title="hop index, ms per graph: median (quartiles)", title_justify="left", title_style="bold")
    for column in ("nodes", "gredkit.add_hops", "Floyd-Warshall and masks", "speed-up"):
        shown.add_column(column, justify="right")
    for nodes, row in result.items():
        times = [show(row["contestants"][name], "ms_per_graph") for name in ("gredkit", "usual")]
        shown.add_row(nodes, *times, f"{row['speedup_vs_usual']:.2f} x")
    return shown
