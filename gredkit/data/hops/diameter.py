"""The diameter of graphs, to which K is compared."""

from collections.abc import Sequence

import numpy as np
from torch_geometric.data import Data

from gredkit.data.hops.index import hop_arrays

SAMPLE = 256  # graphs, evenly spread over the dataset
LARGEST = 1000  # nodes; in larger graphs a search from every node takes too long


def diameter(graph: Data) -> int:
    """The largest distance between two nodes that are connected by a path."""
    return max(int(hop_arrays(graph, None).seq_length.max(initial=1)) - 1, 0)


def diameters(graphs: Sequence[Data]) -> tuple[float, float] | None:
    """Median and largest diameter of a sample of graphs; None if one of them is too large to search."""
    places = np.unique(np.linspace(0, len(graphs) - 1, min(SAMPLE, len(graphs))).round().astype(int))
    sample = [graphs[int(place)] for place in places]
    if not sample or any((graph.num_nodes or 0) > LARGEST for graph in sample):
        return None
    found = [diameter(graph) for graph in sample]
    return float(np.median(found)), float(max(found))
