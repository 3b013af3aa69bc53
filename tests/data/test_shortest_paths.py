"""Shortest paths and components against networkx."""

import itertools

import networkx as nx
import torch
from helpers.graphs import any_graphs, graph, to_networkx
from hypothesis import given, settings
from hypothesis import strategies as st
from torch_geometric.data import Batch, Data

from gredkit.data.connected import Connected
from gredkit.data.shortest_paths import ShortestPaths
from gredkit.nn.distances.all_pairs import AllPairs
from gredkit.nn.distances.path_bias import walk

TYPES = 3


def with_types(data: Data) -> Data:
    """Both directions of every edge once, whose types differ."""
    edges = sorted(
        {(u, v) for u, v in data.edge_index.T.tolist() if u != v}
        | {(v, u) for u, v in data.edge_index.T.tolist() if u != v}
    )
    made = graph(data.num_nodes, edges)
    made.edge_attr = torch.tensor([(3 * u + 5 * v + u * v) % TYPES for u, v in edges], dtype=torch.long)[:, None]
    return made


def smallest(data: Data) -> dict[tuple[int, int], list[int]]:
    """For each ordered pair the types along a shortest path that come first in the dictionary."""
    kind = dict(zip(map(tuple, data.edge_index.T.tolist()), data.edge_attr[:, 0].tolist(), strict=True))
    found, net = {}, to_networkx(data)
    for q in net:
        for k in nx.node_connected_component(net, q):
            paths = nx.all_shortest_paths(net, q, k)
            found[q, k] = min([kind[step] for step in itertools.pairwise(path)] for path in paths)
    return found


@settings(max_examples=25, deadline=None)
@given(st.lists(any_graphs().map(with_types), min_size=1, max_size=3))
def test_types_along_a_path_are_the_first_in_the_dictionary(graphs):
    batch = Batch.from_data_list([ShortestPaths().add_to(one) for one in graphs])
    pairs, first, steps = AllPairs.of(batch), 0, 4
    types = torch.cat([batch.edge_attr[:, 0], torch.tensor([-1])])
    walked = [types[edges].tolist() for edges in walk(batch, pairs, steps)]
    ours = {
        pair: [t for t in kinds if t >= 0]
        for pair, *kinds in zip(zip(pairs.first.tolist(), pairs.second.tolist(), strict=True), *walked, strict=True)
    }
    for one in graphs:
        expected = smallest(one)
        for q in range(one.num_nodes):
            for k in range(one.num_nodes):
                assert ours[first + q, first + k] == expected.get((q, k), [])[:steps]
        first += one.num_nodes
    assert len(ours) == pairs.count == len(batch.path_first_edge)


def test_an_edge_that_is_listed_in_one_direction_is_walked_in_both():
    data = ShortestPaths().add_to(graph(3, [(0, 1), (2, 1), (1, 1)]))
    assert data.path_first_edge.view(3, 3).tolist() == [[-1, 0, 0], [0, -1, 1], [1, 1, -1]]
    edges = torch.stack(walk(data, AllPairs([3], data.edge_index.device), 2), 1).view(3, 3, 2)
    assert edges[0, 2].tolist() == [0, 1]
    assert edges[2, 0].tolist() == [1, 0]
    assert edges[0, 1].tolist() == [0, 3]  # the end of the path is one past the last edge


@settings(max_examples=25, deadline=None)
@given(any_graphs())
def test_components_are_those_of_networkx(data):
    component = Connected().add_to(data).component.tolist()
    expected = {frozenset(nodes) for nodes in nx.connected_components(to_networkx(data))}
    assert {frozenset(v for v, c in enumerate(component) if c == one) for one in component} == expected
