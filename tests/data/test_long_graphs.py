import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gredkit.data.long_graphs import FAMILIES, LEAST, MOST, diameter_of, distances, profile

DIAMETERS = st.integers(LEAST, MOST)
SEEDS = st.integers(0, 10_000)
NAMES = st.sampled_from(sorted(FAMILIES))


def drawn(family: str, diameter: int, seed: int) -> nx.Graph:
    edges = FAMILIES[family](np.random.default_rng(seed), diameter)
    graph = nx.Graph(edges.tolist())
    assert graph.number_of_edges() == len(edges)  # each once
    assert sorted(graph) == list(range(len(graph)))
    return graph


def legs_off(tree: nx.Graph) -> nx.Graph:
    """Without its leaves."""
    return tree.subgraph([v for v in tree if tree.degree(v) > 1])


def is_path(graph: nx.Graph) -> bool:
    return nx.is_tree(graph) and max(degree for _, degree in graph.degree) <= 2


@given(NAMES, DIAMETERS, SEEDS)
def test_a_graph_has_the_diameter_that_was_asked_for(family, diameter, seed):
    assert nx.diameter(drawn(family, diameter, seed)) == diameter


@given(DIAMETERS, SEEDS)
def test_families_are_what_they_are_called(diameter, seed):
    graph = {family: drawn(family, diameter, seed) for family in FAMILIES}
    assert nx.is_isomorphic(graph["line"], nx.path_graph(diameter + 1))
    assert nx.is_isomorphic(graph["ladder"], nx.ladder_graph(diameter))
    assert all(nx.is_tree(graph[family]) for family in ("tree", "caterpillar", "lobster"))
    assert is_path(legs_off(graph["caterpillar"]))
    assert is_path(legs_off(legs_off(graph["lobster"])))
    grid = graph["grid"]
    rows = next(r for r in (3, 4, 5) if r * (diameter + 2 - r) == len(grid))
    whole = nx.convert_node_labels_to_integers(nx.grid_2d_graph(rows, diameter + 2 - rows), ordering="sorted")
    assert {frozenset(edge) for edge in grid.edges} <= {frozenset(edge) for edge in whole.edges}
    assert grid.number_of_edges() >= 0.9 * whole.number_of_edges()


@given(NAMES, DIAMETERS, SEEDS)
def test_distances_are_those_of_networkx(family, diameter, seed):
    graph = drawn(family, diameter, seed)
    expected = dict(nx.all_pairs_shortest_path_length(graph))
    found = distances(np.array(graph.edges), len(graph))
    assert found.tolist() == [[expected[u][v] for v in range(len(graph))] for u in range(len(graph))]


def test_a_graph_in_two_parts_has_no_diameter():
    found = distances(np.array([[0, 1], [2, 3]]), 4)
    assert found.tolist() == [[0, 1, -1, -1], [1, 0, -1, -1], [-1, -1, 0, 1], [-1, -1, 1, 0]]
    assert diameter_of(found) == -1


@given(NAMES, DIAMETERS, SEEDS)
def test_numbers_of_nodes_do_not_change_the_profile(family, diameter, seed):
    graph = drawn(family, diameter, seed)
    order = np.random.default_rng(seed + 1).permutation(len(graph))
    edges = np.array(graph.edges)
    renamed = distances(order[edges], len(graph))
    assert profile(renamed) == profile(distances(edges, len(graph)))


@pytest.mark.parametrize("family", ["grid", "tree", "caterpillar", "lobster"])
def test_other_graphs_have_other_profiles(family):
    graphs = [drawn(family, 20, seed) for seed in range(12)]
    kinds = [profile(distances(np.array(graph.edges), len(graph))) for graph in graphs]
    for i, graph in enumerate(graphs):
        for j in range(i):
            assert (kinds[i] == kinds[j]) == nx.is_isomorphic(graph, graphs[j])
