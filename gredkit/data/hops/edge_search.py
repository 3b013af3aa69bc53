"""The edges among the members of sets, and from one set to another: plain loops, compiled by numba."""

import numpy as np

from gredkit.data.hops.compiled import compiled
from gredkit.data.hops.search import INT, _grown


@compiled
def members_with_edges(here, there, set_size, set_member, one_end, other_end, num_nodes):  # type: ignore[no-untyped-def]
    """The members of sets that also have edges: their nodes, the edges among these, and those to the nodes `there`.

    here, there [sets]: the nodes, as numbers of hop sets; a number that is too large stands for no nodes
    one_end, other_end [edges]: each edge once

    Returns size [sets] and member [members]: u for a node; for edge e, num_nodes + 3 e if it lies inside, and 1 or 2
    more if it leads from `one_end` to `other_end` or back.
    """
    edges = len(one_end)
    first = np.zeros(num_nodes + 1, np.int64)
    for e in range(edges):
        first[one_end[e] + 1] += 1
        first[other_end[e] + 1] += 1
    first = np.cumsum(first)
    touching = np.empty(2 * edges, np.int64)
    filled = first[:-1].copy()
    for e in range(edges):
        touching[filled[one_end[e]]] = e
        filled[one_end[e]] += 1
        touching[filled[other_end[e]]] = e
        filled[other_end[e]] += 1

    start = np.zeros(len(set_size) + 1, np.int64)
    start[1:] = np.cumsum(set_size)
    mark = np.zeros(num_nodes, np.int64)  # 1 here, 2 there
    size = np.zeros(len(here), INT)
    member = np.empty(max(4 * len(set_member), 16), INT)
    end = 0
    for s in range(len(here)):
        nodes = set_member[start[here[s]] : start[here[s] + 1]]
        after = set_member[0:0]
        if there[s] < len(set_size):
            after = set_member[start[there[s]] : start[there[s] + 1]]
        mark[nodes], mark[after] = 1, 2
        room = len(nodes)
        for u in nodes:
            room += first[u + 1] - first[u]
        if end + room > len(member):
            member = _grown(member, end + room)
        begin = end
        for u in nodes:
            member[end] = u
            end += 1
        for u in nodes:
            for i in range(first[u], first[u + 1]):
                e = touching[i]
                is_first = one_end[e] == u
                other = mark[other_end[e] if is_first else one_end[e]]
                if other == 1 and is_first:  # once, though both ends are here
                    member[end] = num_nodes + 3 * e
                    end += 1
                elif other == 2:
                    member[end] = num_nodes + 3 * e + (1 if is_first else 2)
                    end += 1
        size[s] = end - begin
        mark[nodes], mark[after] = 0, 0
    return size, member[:end].copy()
