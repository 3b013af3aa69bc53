"""Graphs for the tests: hypothesis strategies, small batches, and a plain reading of their hop index."""

from collections.abc import Callable, Iterable, Sequence
from itertools import combinations, pairwise

import networkx as nx
import torch
from hypothesis import strategies as st
from torch_geometric.data import Batch, Data

from gredkit.data.hops.index import HopData, add_hops
from gredkit.nn.hop_index import HopIndex

Edges = list[tuple[int, int]]

MAX_NODES = 14


def graph(num_nodes: int, edges: Iterable[tuple[int, int]]) -> Data:
    """A PyG graph with exactly these edges: none is turned round, none is dropped."""
    edge_index = torch.tensor(list(edges), dtype=torch.long).reshape(-1, 2).T.contiguous()
    return Data(edge_index=edge_index, num_nodes=num_nodes)


def from_networkx(source: nx.Graph) -> Data:
    return graph(source.number_of_nodes(), nx.convert_node_labels_to_integers(source).edges())


def to_networkx(data: Data) -> nx.Graph:
    """The undirected graph that the edges stand for."""
    result = nx.Graph()
    result.add_nodes_from(range(data.num_nodes))
    result.add_edges_from(data.edge_index.T.tolist())
    return result


def permuted(data: Data, order: Sequence[int]) -> Data:
    """The same graph with node v called order[v]."""
    return graph(data.num_nodes, [(order[u], order[v]) for u, v in data.edge_index.T.tolist()])


# One strategy a kind of graph: number of nodes -> edges.


def _some(pairs: Sequence[tuple[int, int]], **kwargs: int) -> st.SearchStrategy[Edges]:
    return st.lists(st.sampled_from(pairs), **kwargs) if pairs else st.just([])


def _directed(n: int) -> st.SearchStrategy[Edges]:
    return _some([(u, v) for u in range(n) for v in range(n) if u != v], max_size=2 * n)


def _self_loops(n: int) -> st.SearchStrategy[Edges]:
    loops = _some([(v, v) for v in range(n)], min_size=1, max_size=n)
    return st.builds(lambda a, b: a + b, loops, _directed(n))


def _repeated(n: int) -> st.SearchStrategy[Edges]:
    return _directed(n).map(lambda edges: edges + edges[::2] + [(v, u) for u, v in edges[1::2]])


def _isolated(n: int) -> st.SearchStrategy[Edges]:
    """Every third node has no edge."""
    joined = [v for v in range(n) if v % 3]
    return _some(list(combinations(joined, 2)), max_size=n)


def _components(n: int) -> st.SearchStrategy[Edges]:
    """Nodes are joined only to nodes of the same rest by 3."""
    return _some([(u, v) for u, v in combinations(range(n), 2) if u % 3 == v % 3], max_size=2 * n)


def _dense(n: int) -> st.SearchStrategy[Edges]:
    """All pairs but a few."""
    pairs = list(combinations(range(n), 2))
    return st.sets(st.sampled_from(pairs), max_size=n).map(lambda gone: [p for p in pairs if p not in gone])


def _tree(n: int) -> st.SearchStrategy[Edges]:
    parents = st.tuples(*(st.integers(0, v - 1) for v in range(1, n)))
    return parents.map(lambda parent: [(p, v + 1) for v, p in enumerate(parent)])


def _path(n: int) -> st.SearchStrategy[Edges]:
    return st.permutations(range(n)).map(lambda order: list(pairwise(order)))


def _none(n: int) -> st.SearchStrategy[Edges]:
    return st.just([])


KINDS: dict[str, tuple[tuple[int, int], Callable[[int], st.SearchStrategy[Edges]]]] = {
    "directed": ((2, MAX_NODES), _directed),
    "self-loops": ((1, MAX_NODES), _self_loops),
    "repeated edges": ((2, MAX_NODES), _repeated),
    "isolated nodes": ((4, MAX_NODES), _isolated),
    "several components": ((4, MAX_NODES), _components),
    "dense": ((3, MAX_NODES), _dense),
    "tree": ((2, MAX_NODES), _tree),
    "path": ((2, MAX_NODES), _path),
    "no edges": ((2, MAX_NODES), _none),
    "single node": ((1, 1), _none),
    "no nodes": ((0, 0), _none),
}

# More hops than any of these graphs has, fewer, none, and as many as there are.
HOPS = st.one_of(st.integers(0, 4), st.just(MAX_NODES + 3), st.none())


def graphs(kind: str) -> st.SearchStrategy[Data]:
    """Graphs of one kind."""
    (least, most), edges = KINDS[kind]

    def of_size(n: int) -> st.SearchStrategy[Data]:
        return edges(n).map(lambda e: graph(n, e))

    return st.integers(least, most).flatmap(of_size)


def any_graphs() -> st.SearchStrategy[Data]:
    return st.sampled_from(list(KINDS)).flatmap(graphs)


def hop_batches() -> st.SearchStrategy[list[HopData]]:
    """One to four graphs of mixed kinds, each with a K of its own."""
    return st.lists(st.builds(add_hops, any_graphs(), HOPS), min_size=1, max_size=4)


# Small fixed graphs, for what is slow to evaluate.

SMALL = {
    "path": nx.path_graph(5),
    "star with a tail": nx.Graph([(0, 1), (0, 2), (0, 3), (3, 4)]),
    "triangle and a lone node": nx.disjoint_union(nx.complete_graph(3), nx.empty_graph(1)),
    "one node": nx.empty_graph(1),
}


def small_graphs(K: int | None = None) -> list[HopData]:
    return [add_hops(from_networkx(g), K) for g in SMALL.values()]


def long_graph() -> HopData:
    """A graph whose sequences are longer than those of all small ones."""
    return add_hops(from_networkx(nx.path_graph(9)), None)


def index_of(*data: HopData) -> HopIndex:
    return HopIndex.of(Batch.from_data_list(list(data)))


# Plain readings.


def split(values: Sequence[int], sizes: Sequence[int]) -> list[list[int]]:
    """Cut a flat list into pieces of these sizes, which must use it up."""
    pieces, begin = [], 0
    for size in sizes:
        pieces.append(list(values[begin : begin + size]))
        begin += size
    assert begin == len(values)
    return pieces


def sets_of(data: HopData) -> list[list[int]]:
    """The members of each distinct set."""
    return split(data.hop_set_member.tolist(), data.hop_set_size.tolist())


def hops_of(data: HopData) -> list[list[list[int]]]:
    """For each node, nearest hop first, the nodes that stand there."""
    sets = sets_of(data)
    sequences = split(data.hop_seq_set.tolist(), data.hop_seq_length.tolist())
    return [[sets[s] for s in sequence] for sequence in sequences]


def sequences_of(hops: HopIndex) -> list[list[int]]:
    """For each node, nearest hop first, the set that stands there."""
    return split(hops.seq_set.tolist(), hops.seq_length.tolist())
