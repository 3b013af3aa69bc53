"""Hop sets of one graph: breadth-first search from every node, equal sets stored once.

Plain loops, compiled by numba; the compiled code releases the GIL, so threads run in parallel.
"""

import numpy as np
from numba import njit

from gredkit.data.hops.compiled import compiled

INT = np.int32


@compiled
def hop_sets(source, target, num_nodes, K, weights, directed):  # type: ignore[no-untyped-def]
    """The distinct hop sets of a graph and, for each node, the sets at hop 0, 1, ….

    K: the last hop; below 0 there is no limit
    weights [num_nodes]: hash weights of the nodes. Any values give the same result (sets are compared by
        their members), random values give it fast.
    directed: whether hop k of v has the nodes from which k steps along edges lead to v; otherwise edges have no
        direction

    Returns set_size [S], set_member [M] (ascending in a set), seq_length [N], seq_set [R] (nearest hop
    first). Set v is {v}.
    """
    start, neighbour = _neighbours(source, target, num_nodes, directed)
    set_start = np.zeros(max(16 * num_nodes, 16), np.int64)
    set_hash = np.empty(len(set_start), np.uint64)
    set_member = np.empty(max(64 * num_nodes, 16), INT)
    table = np.full(_table_size(len(set_start)), -1, INT)
    seq_length = np.empty(num_nodes, INT)
    seq_set = np.empty(max(64 * num_nodes, 16), INT)

    for v in range(num_nodes):
        set_start[v + 1], set_hash[v], set_member[v] = v + 1, weights[v], v
    _fill(table, set_hash, num_nodes)
    sets, rows = num_nodes, 0

    distance = np.full(num_nodes, -1, INT)
    queue = np.empty(num_nodes, np.uint32)
    level_start = np.empty(num_nodes + 1, np.uint32)
    level_hash = np.empty(num_nodes + 1, np.uint64)
    reach = np.full(num_nodes, num_nodes, INT)  # an upper bound on the nodes in the component
    for v in range(num_nodes):
        levels = _search(start, neighbour, v, K, reach[v], weights, distance, queue, level_start, level_hash)
        found = level_start[levels]
        # Make room for the worst case, so that the inner loops never reallocate an array.
        if sets + levels >= len(set_start):
            set_start, set_hash = _grown(set_start, sets + levels + 1), _grown(set_hash, sets + levels + 1)
            table = np.full(_table_size(len(set_start)), -1, INT)
            _fill(table, set_hash, sets)
        if set_start[sets] + found > len(set_member):
            set_member = _grown(set_member, set_start[sets] + found)
        if rows + levels > len(seq_set):
            seq_set = _grown(seq_set, rows + levels)
        sets = _store(
            distance,
            queue,
            level_start,
            level_hash,
            levels,
            table,
            set_start,
            set_hash,
            set_member,
            sets,
            seq_set,
            rows,
        )
        seq_length[v] = levels
        rows += levels
        if K < 0 and not directed and reach[v] == num_nodes:
            for i in range(found):
                reach[queue[i]] = found
        for i in range(found):
            distance[queue[i]] = -1
    set_size = np.diff(set_start[: sets + 1]).astype(INT)
    return set_size, set_member[: set_start[sets]].copy(), seq_length, seq_set[:rows].copy()


@compiled
def cut_hop_sets(set_size, set_member, seq_length, seq_set, K):  # type: ignore[no-untyped-def]
    """The hop sets up to K, taken from those of a larger K; same numbering as a search up to K."""
    num_nodes = len(seq_length)
    new_id = np.full(len(set_size), -1, INT)
    kept = np.empty(len(set_size), INT)
    for v in range(num_nodes):
        new_id[v] = kept[v] = v
    sets = num_nodes
    new_length = np.minimum(seq_length, INT(K + 1))
    new_seq = np.empty(new_length.sum(), INT)
    row, new_row = 0, 0
    for v in range(num_nodes):
        for k in range(new_length[v]):
            s = seq_set[row + k]
            if new_id[s] < 0:
                new_id[s], kept[sets] = sets, s
                sets += 1
            new_seq[new_row] = new_id[s]
            new_row += 1
        row += seq_length[v]
    start = np.zeros(len(set_size) + 1, np.int64)
    start[1:] = np.cumsum(set_size)
    new_size = set_size[kept[:sets]]
    new_member = np.empty(new_size.sum(), INT)
    position = 0
    for i in range(sets):
        s = kept[i]
        new_member[position : position + set_size[s]] = set_member[start[s] : start[s + 1]]
        position += set_size[s]
    return new_size, new_member, new_length, new_seq


@njit(nogil=True, inline="always")
def _search(  # type: ignore[no-untyped-def]
    start, neighbour, source, K, reach, weights, distance, queue, level_start, level_hash
):
    """Breadth-first search up to hop K: level k is queue[level_start[k]:level_start[k + 1]].

    The hash of a level is the sum of its nodes' weights, so it does not depend on their order.
    """
    queue[0], distance[source] = source, 0
    level_start[0], level_hash[0], end, k = 0, weights[source], 1, 0
    while True:
        level_start[k + 1] = end
        if k == K or end == reach:
            return k + 1
        key = np.uint64(0)
        for i in range(level_start[k], level_start[k + 1]):
            for j in range(start[queue[i]], start[queue[i] + 1]):
                u = neighbour[j]
                if distance[u] < 0:
                    distance[u] = k + 1
                    key += weights[u]
                    queue[end] = u
                    end += 1
            if end == reach:
                break
        if end == level_start[k + 1]:
            return k + 1
        k += 1
        level_hash[k] = key


@njit(nogil=True, inline="always")
def _store(  # type: ignore[no-untyped-def]
    distance, queue, level_start, level_hash, levels, table, set_start, set_hash, set_member, sets, seq_set, rows
):
    """Find each level among the known sets, or add it; returns the new number of sets."""
    mask = len(table) - 1
    for k in range(levels):
        begin, end, key = level_start[k], level_start[k + 1], level_hash[k]
        slot = _slot(key, mask)
        while table[slot] >= 0:
            s = table[slot]
            if set_hash[s] == key and set_start[s + 1] - set_start[s] == end - begin:
                i = set_start[s]
                while i < set_start[s + 1] and distance[set_member[i]] == k:
                    i += 1
                if i == set_start[s + 1]:
                    break
            slot = (slot + 1) & mask
        if table[slot] < 0:
            table[slot] = sets
            set_hash[sets] = key
            set_start[sets + 1] = set_start[sets] + end - begin
            _copy_sorted(queue, begin, end, set_member, set_start[sets])
            sets += 1
        seq_set[rows + k] = table[slot]
    return sets


@compiled
def _neighbours(source, target, num_nodes, directed):  # type: ignore[no-untyped-def]
    """Neighbour lists, or lists of the nodes whose edges end here; each appears once, without self-loops."""
    start = np.zeros(num_nodes + 1, np.int64)
    for e in range(len(source)):
        start[target[e] + 1] += 1
        if not directed:
            start[source[e] + 1] += 1
    start = np.cumsum(start)
    listed = np.empty(start[-1], np.uint32)
    filled = start[:-1].copy()
    for e in range(len(source)):
        listed[filled[target[e]]] = source[e]
        filled[target[e]] += 1
        if not directed:
            listed[filled[source[e]]] = target[e]
            filled[source[e]] += 1

    neighbour = np.empty(len(listed), np.uint32)
    seen_by = np.full(num_nodes, -1, np.int64)
    end = 0
    for v in range(num_nodes):
        begin, seen_by[v] = end, v
        for j in range(start[v], start[v + 1]):
            u = listed[j]
            if seen_by[u] != v:
                seen_by[u] = v
                neighbour[end] = u
                end += 1
        start[v] = begin
    start[num_nodes] = end
    return start, neighbour


@njit(nogil=True, inline="always")
def _copy_sorted(queue, begin, end, out, position):  # type: ignore[no-untyped-def]
    """Copy sorted; most sets are small, and sorting them in place is faster than a library call."""
    if end - begin > 32:
        out[position : position + end - begin] = np.sort(queue[begin:end])
        return
    for i in range(begin, end):
        j = position + i - begin
        while j > position and out[j - 1] > queue[i]:
            out[j] = out[j - 1]
            j -= 1
        out[j] = queue[i]


@compiled
def _table_size(sets):  # type: ignore[no-untyped-def]
    size = 16
    while size < 2 * sets:
        size *= 2
    return size


@compiled
def _slot(key, mask):  # type: ignore[no-untyped-def]
    return np.int64((key ^ (key >> np.uint64(32))) & np.uint64(mask))


@compiled
def _fill(table, set_hash, sets):  # type: ignore[no-untyped-def]
    """Insert the sets, which all differ, into an empty hash table."""
    mask = len(table) - 1
    for s in range(sets):
        slot = _slot(set_hash[s], mask)
        while table[slot] >= 0:
            slot = (slot + 1) & mask
        table[slot] = s


@compiled
def _grown(array, needed):  # type: ignore[no-untyped-def]
    larger = np.empty(max(2 * len(array), needed), array.dtype)
    larger[: len(array)] = array
    return larger
