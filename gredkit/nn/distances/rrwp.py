"""Relative random-walk probabilities of all pairs of nodes of a batch.

They are computed for each batch and not kept in the cache: n³ multiplications per step are little beside what a model
does with n² rows of its width, while n² × steps numbers per graph would fill a disk (CIFAR10, 60,000 graphs of 117
nodes, 18 steps: 59 GB). The published code does the same for CIFAR10.
"""

from contextlib import nullcontext

import torch
from torch import Tensor
from torch_geometric.data import Data

from gredkit.nn.distances.all_pairs import AllPairs

ORIENTATIONS = ("target_row", "source_row")


def adjacency(batch: Data, pairs: AllPairs, dtype: torch.dtype) -> Tensor:
    """A of each graph: undirected, without self-loops and repeated edges. Shape: -> [graphs, n, n]"""
    A = torch.zeros(len(pairs.sizes), pairs.width, pairs.width, dtype=dtype, device=pairs.size.device)
    graph, (source, target) = pairs.graph[batch.edge_index[0]], pairs.place[batch.edge_index]
    A[graph, source, target] = 1  # the same edge twice is one
    A[graph, target, source] = 1
    A.diagonal(dim1=1, dim2=2).zero_()
    return A


@torch.no_grad()
def rrwp(A: Tensor, pairs: AllPairs, steps: int, orientation: str) -> Tensor:
    """I, P, …, P^(steps-1) for each pair, P = D^-1 A; a walk from an isolated node ends at once.

    orientation: 'target_row' has the walk from the target (first) to the source (second), 'source_row' the other way
    Shape: A [graphs, n, n] -> [pairs, steps]
    """
    graph, first, second = pairs.graph[pairs.first], pairs.place[pairs.first], pairs.place[pairs.second]
    if orientation == "source_row":
        first, second = second, first
    P = A / A.sum(2, keepdim=True).clamp(min=1)
    power = torch.eye(A.shape[1], dtype=A.dtype, device=A.device).expand_as(A)
    found = A.new_empty(pairs.count, steps)
    with nullcontext() if A.is_meta else torch.autocast(A.device.type, enabled=False):
        for step in range(steps):
            found[:, step] = power[graph, first, second]
            power = power @ P
    return found
