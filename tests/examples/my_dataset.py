"""One ring, or two of half the size? Every node has two neighbours in both."""

import torch
from torch_geometric.data import Data


def one_ring_or_two(largest: int = 20) -> list[Data]:
    """For 3 to `largest` nodes a ring: two such rings, class 0, and one of the same size, class 1."""
    graphs = []
    for size in range(3, largest + 1):
        nodes = torch.arange(2 * size)
        two = (nodes + 1) % size + nodes // size * size
        one = (nodes + 1) % (2 * size)
        graphs += [
            Data(edge_index=torch.stack([nodes, follower]), num_nodes=2 * size, y=torch.tensor([kind]))
            for kind, follower in enumerate((two, one))
        ]
    return graphs
