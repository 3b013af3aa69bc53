"""Shortest paths of one graph: breadth-first search from every node, with a choice among paths of equal length."""

import numpy as np

from gredkit.data.hops.compiled import compiled


@compiled
def first_edges(start, end, number, rank, num_nodes):  # type: ignore[no-untyped-def]
    """The first edge on the chosen shortest path from each node to each other, -1 where there is none.

    start, end, number, rank [ways]: every way along an edge, by start, then by end; the number of its edge; the rank
    of its features. Of all shortest paths from q to k, the ranks along the chosen one come first in the dictionary.

    Returns [num_nodes²]: entry q * num_nodes + k is for the path from q to k.
    """
    first = np.zeros(num_nodes + 1, np.int64)
    for way in range(len(start)):
        first[start[way] + 1] += 1
    first = np.cumsum(first)
    chosen = np.full(num_nodes * num_nodes, -1, np.int32)
    distance = np.empty(num_nodes, np.int64)
    place = np.empty(num_nodes, np.int64)  # of a node's path among those of its level
    key = np.empty(num_nodes, np.int64)
    queue = np.empty(num_nodes, np.int64)
    for k in range(num_nodes):
        distance[:] = -1
        distance[k], place[k], queue[0] = 0, 0, k
        begin, stop = 0, 1
        while begin < stop:  # one level: all nodes at the same distance from k
            following = stop
            for i in range(begin, stop):
                v = queue[i]
                for way in range(first[v], first[v + 1]):
                    q = end[way]
                    if distance[q] < 0:
                        distance[q] = distance[v] + 1
                        queue[following] = q
                        following += 1
            for i in range(stop, following):
                q = queue[i]
                best = -1
                for way in range(first[q], first[q + 1]):
                    if distance[end[way]] == distance[q] - 1:
                        this = rank[way] * (num_nodes + 1) + place[end[way]]
                        if best < 0 or this < best:
                            best = this
                            chosen[q * num_nodes + k] = number[way]
                key[i] = best
            ordered = np.sort(key[stop:following])
            for i in range(stop, following):
                place[queue[i]] = np.searchsorted(ordered, key[i])
            begin, stop = stop, following
    return chosen
