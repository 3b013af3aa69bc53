"""Stochastic block models as in the PATTERN and CLUSTER benchmarks of Dwivedi et al. (2023)."""

import numpy as np
import torch
from torch_geometric.data import Data

LEAST, MOST = 5, 34  # nodes in a block


def random_blocks(rng: np.random.Generator, count: int) -> np.ndarray:
    """The block of each node; block sizes are uniform in 5..34. Shape: -> [nodes], ascending"""
    return np.repeat(np.arange(count), rng.integers(LEAST, MOST + 1, count))


def random_edges(rng: np.random.Generator, probability: np.ndarray) -> np.ndarray:
    """Draw each pair of nodes once, without self-loops.

    Shape: probability [nodes, nodes], read above the diagonal -> symmetric bool [nodes, nodes]
    """
    above = np.triu(rng.random(probability.shape) < probability, 1)
    return above | above.T


def shuffled_graph(rng: np.random.Generator, adjacent: np.ndarray, symbol: np.ndarray, label: np.ndarray) -> Data:
    """A graph with its nodes in random order and one categorical column.

    Shape: adjacent [nodes, nodes], symbol [nodes], label [nodes]
    """
    order = rng.permutation(len(symbol))
    edges = np.stack(adjacent[np.ix_(order, order)].nonzero())
    return Data(
        x=torch.from_numpy(symbol[order].astype(np.int64))[:, None],
        edge_index=torch.from_numpy(edges.astype(np.int64)),
        y=torch.from_numpy(label[order].astype(np.int64)),
    )
