"""How far nodes are from one node: in hops, and as resistances of a network of resistors."""

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import shortest_path
from torch_geometric.data import Data

from gredkit.data.hops.index import links

UNREACHABLE = -1  # in place of a number of hops
MOST_NODES = 1000  # of a graph whose resistances are computed, at a cost of nodes³


def hops_from(graph: Data, node: int) -> np.ndarray:
    """The number of hops from a node to each node; edges count as undirected. Shape: -> [nodes]"""
    count, pairs = links(graph)
    edges = coo_array((np.ones(len(pairs)), pairs.T), shape=(count, count)).tocsr()
    found = shortest_path(edges, directed=False, unweighted=True, indices=node)
    return np.where(np.isfinite(found), found, UNREACHABLE).astype(int)


def resistances(graph: Data) -> np.ndarray | None:
    """The effective resistance between all nodes, where each edge is a resistor of 1 ohm.

    R_uv = L⁺_uu + L⁺_vv - 2 L⁺_uv with the pseudo-inverse of the Laplacian L; infinite without a connection. On a
    tree it is the number of hops; many ways in parallel make it smaller. None for a graph that is too large.
    Shape: -> [nodes, nodes]
    """
    count, pairs = links(graph)
    if count > MOST_NODES:
        return None
    laplacian = np.zeros((count, count))
    first, second = pairs.T
    laplacian[first, second] = laplacian[second, first] = -1
    np.fill_diagonal(laplacian, -laplacian.sum(1))
    inverse = np.linalg.pinv(laplacian, hermitian=True)
    own = inverse.diagonal()
    found = np.maximum(own[:, None] + own - 2 * inverse, 0.0)
    found[_piece(pairs, count)[:, None] != _piece(pairs, count)] = np.inf
    return found


def _piece(pairs: np.ndarray, count: int) -> np.ndarray:
    """The number of the connected component of each node."""
    from scipy.sparse.csgraph import connected_components

    return connected_components(coo_array((np.ones(len(pairs)), pairs.T), shape=(count, count)), directed=False)[1]
