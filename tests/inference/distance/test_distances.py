"""Distances against networkx."""

import networkx as nx
import numpy as np
import pytest
from helpers.graphs import from_networkx

from gredkit.inference.distance.distances import MOST_NODES, hops_from, resistances

GRAPHS = {
    "path": nx.path_graph(7),
    "ring": nx.cycle_graph(8),
    "complete": nx.complete_graph(5),
    "grid": nx.convert_node_labels_to_integers(nx.grid_2d_graph(3, 4)),
    "random": nx.gnp_random_graph(15, 0.3, seed=1),
    "pieces": nx.disjoint_union(nx.path_graph(3), nx.cycle_graph(4)),
    "one node": nx.path_graph(1),
}


@pytest.mark.parametrize("name", GRAPHS)
def test_hops(name):
    graph = GRAPHS[name]
    for node in graph:
        known = nx.single_source_shortest_path_length(graph, node)
        assert hops_from(from_networkx(graph), node).tolist() == [known.get(u, -1) for u in graph]


@pytest.mark.parametrize("name", GRAPHS)
def test_resistances(name):
    graph = GRAPHS[name]
    found = resistances(from_networkx(graph))
    for piece in nx.connected_components(graph):
        known = nx.resistance_distance(graph.subgraph(piece))
        for u in graph:
            for v in piece:
                expected = known[u][v] if u in piece else np.inf
                assert found[u, v] == pytest.approx(expected, abs=1e-9)


def test_resistances_of_a_large_graph_are_left_out():
    assert resistances(from_networkx(nx.path_graph(MOST_NODES + 1))) is None
