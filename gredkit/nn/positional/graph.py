"""The adjacency matrix for positional encodings: undirected, without self-loops or repeated edges."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from torch_geometric.data import Data

from gredkit.errors import UserError

if TYPE_CHECKING:  # scipy is slow to import, and only computing an encoding needs it
    from scipy.sparse import csr_array


def adjacency_matrix(data: Data) -> csr_array:
    """The adjacency matrix A of zeros and ones. Shape: -> [nodes, nodes]"""
    from scipy.sparse import coo_array

    if data.num_nodes is None:
        raise UserError("the graph does not say how many nodes it has: give it x or num_nodes")
    edges = np.empty((2, 0), np.int64) if data.edge_index is None else data.edge_index.cpu().numpy()
    edges = edges[:, edges[0] != edges[1]]
    both_ways = np.concatenate([edges, edges[::-1]], 1)
    shape = (data.num_nodes, data.num_nodes)
    A = coo_array((np.ones(both_ways.shape[1]), tuple(both_ways)), shape).tocsr()  # sums repeated edges
    A.data.fill(1)
    return A


def normalised(A: csr_array) -> csr_array:
    """D^-1/2 A D^-1/2; the row of an isolated node is zero. Shape: [nodes, nodes]"""
    from scipy.sparse import diags_array

    scale = diags_array(1 / np.sqrt(np.maximum(A.sum(1), 1)))
    return (scale @ A @ scale).tocsr()
