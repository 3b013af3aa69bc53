"""One shortest path between any two nodes of a graph, as a structure that a model can ask for."""

from typing import ClassVar

import numpy as np
import torch
from torch_geometric.data import Data

from gredkit.data.structures import Arrays, Structure


class ShortestPaths(Structure):
    """The first edge on a shortest path from each node to each other: `path_first_edge` [nodes²], -1 where none is.

    Entry q * nodes + k belongs to the path from q to k; the edge is a column of the graph's edge_index. What follows
    this edge is the path from its other end to k, so the first edges are enough to walk along all paths.

    Of all shortest paths it is the one whose edges have the smallest features, compared edge by edge from q on. So the
    features along a path do not depend on how nodes are numbered or edges are listed. Edges count as undirected; where
    both directions are listed, a path takes the one in which it goes.
    """

    key: ClassVar[str] = "paths"

    def compute(self, graph: Data) -> Arrays:
        from gredkit.data.hops.path_search import first_edges  # numba is slow to import, and needed only here

        return {"first_edge": first_edges(*directed(graph), graph.num_nodes or 0)}

    def attach(self, graph: Data, arrays: Arrays) -> Data:
        graph.path_first_edge = torch.from_numpy(arrays["first_edge"])
        return graph


def directed(graph: Data) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Every way along an edge, once: where it starts and ends, the edge's number and the rank of its features.

    Shape: -> four arrays [ways], by start, then by end
    """
    edges = np.empty((2, 0), np.int64) if graph.edge_index is None else graph.edge_index.cpu().numpy()
    count = edges.shape[1]
    rank = np.zeros(count, np.int64)
    if graph.edge_attr is not None and count:
        rows = graph.edge_attr.cpu().numpy().reshape(count, -1)
        rank = np.unique(rows, axis=0, return_inverse=True)[1].reshape(count)
    start, end = np.concatenate([edges, edges[::-1]], 1)
    backwards = np.repeat([0, 1], count)
    number, rank = np.tile(np.arange(count), 2), np.tile(rank, 2)
    order = np.lexsort((number, rank, backwards, end, start))
    order = order[start[order] != end[order]]
    is_first = np.ones(len(order), bool)
    is_first[1:] = (np.diff(start[order]) != 0) | (np.diff(end[order]) != 0)
    chosen = order[is_first]
    return start[chosen], end[chosen], number[chosen], rank[chosen]
