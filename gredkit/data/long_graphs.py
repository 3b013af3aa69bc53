"""Random graphs of a given diameter that are long and thin: the six families of the ECHO benchmark."""

from collections.abc import Callable

import numpy as np

Edges = np.ndarray  # [edges, 2], each edge once

LEAST, MOST = 6, 40  # diameters that can be asked for
ROWS = 3, 5  # of a grid
DROPPED = 10  # one of so many edges of a grid is taken out, if it can be


def line(rng: np.random.Generator, diameter: int) -> Edges:
    """A path."""
    return _path(diameter + 1)


def ladder(rng: np.random.Generator, diameter: int) -> Edges:
    """Two paths with a rung between each pair of opposite nodes."""
    return _grid(2, diameter)


def grid(rng: np.random.Generator, diameter: int) -> Edges:
    """A grid of 3 to 5 rows without up to a tenth of its edges: those that can be taken out at the same diameter."""
    rows = int(rng.integers(ROWS[0], min(ROWS[1], (diameter + 2) // 2) + 1))
    nodes, edges = rows * (diameter + 2 - rows), _grid(rows, diameter + 2 - rows)
    kept = np.ones(len(edges), bool)
    for edge in rng.permutation(len(edges))[: len(edges) // DROPPED]:
        kept[edge] = False
        kept[edge] = diameter_of(distances(edges[kept], nodes)) != diameter
    return edges[kept]


def tree(rng: np.random.Generator, diameter: int) -> Edges:
    """A path with branches of any shape that make it no longer."""
    return _branching(rng, diameter, diameter)


def caterpillar(rng: np.random.Generator, diameter: int) -> Edges:
    """A tree in which every node is on a path or next to it."""
    return _branching(rng, diameter, 1)


def lobster(rng: np.random.Generator, diameter: int) -> Edges:
    """A tree in which every node is at most two hops from a path."""
    return _branching(rng, diameter, 2)


FAMILIES: dict[str, Callable[[np.random.Generator, int], Edges]] = {
    function.__name__: function for function in (line, ladder, grid, tree, caterpillar, lobster)
}
ALWAYS_THE_SAME = ("line", "ladder")  # families with one graph per diameter


def distances(edges: Edges, nodes: int) -> np.ndarray:
    """The hops between all nodes; -1 where there is no path. Shape: -> [nodes, nodes]"""
    from scipy.sparse import coo_array  # slow to import, and needed only here
    from scipy.sparse.csgraph import shortest_path

    A = coo_array((np.ones(len(edges)), tuple(edges.T)), (nodes, nodes))
    hops = shortest_path(A.tocsr(), directed=False, unweighted=True)
    return np.where(np.isinf(hops), -1, hops).astype(np.int64)


def diameter_of(hops: np.ndarray) -> int:
    """The largest distance; -1 if there is a pair without a path. Shape: hops [nodes, nodes]"""
    return -1 if (hops < 0).any() else int(hops.max())


def profile(hops: np.ndarray) -> bytes:
    """How many nodes each node has at each distance, in an order that no numbering changes.

    Graphs that differ only in the numbers of their nodes have the same profile; a few others may share one.
    Shape: hops [nodes, nodes]
    """
    counts = np.stack([(hops == hop).sum(1) for hop in range(hops.max() + 1)], 1).astype(np.int32)
    return counts[np.lexsort(counts.T)].tobytes() + bytes(str(counts.shape), "ascii")


def _path(nodes: int) -> Edges:
    return np.stack([np.arange(nodes - 1), np.arange(1, nodes)], 1)


def _grid(rows: int, columns: int) -> Edges:
    """Node (r, c) is number r * columns + c."""
    number = np.arange(rows * columns).reshape(rows, columns)
    along = np.stack([number[:, :-1].ravel(), number[:, 1:].ravel()], 1)
    across = np.stack([number[:-1].ravel(), number[1:].ravel()], 1)
    return np.concatenate([along, across])


def _branching(rng: np.random.Generator, diameter: int, deepest: int) -> Edges:
    """A path of the diameter and half to once as many further nodes, at most `deepest` hops from it.

    A node that hangs on place i of the path is at most min(i, diameter - i) hops from it, so the diameter stays.
    """
    place, depth = np.arange(diameter + 1), np.zeros(diameter + 1, int)
    edges = [_path(diameter + 1)]
    for _ in range(int(rng.integers(diameter // 2, diameter + 1))):
        room = np.minimum(np.minimum(place, diameter - place), deepest) > depth
        parent = int(rng.choice(np.flatnonzero(room)))
        edges.append(np.array([[parent, len(place)]]))
        place, depth = np.append(place, place[parent]), np.append(depth, depth[parent] + 1)
    return np.concatenate(edges)
