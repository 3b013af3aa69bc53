import numpy as np
import pytest
from helpers.graphs import graph
from torch_geometric.data import Data

from gredkit.errors import UserError
from gredkit.nn.positional.graph import adjacency_matrix, normalised

PATH = np.array([[0, 1, 0, 0], [1, 0, 1, 0], [0, 1, 0, 0], [0, 0, 0, 0]])


@pytest.mark.parametrize(
    "edges",
    [
        [(0, 1), (1, 2)],
        [(1, 0), (2, 1)],
        [(0, 1), (1, 0), (1, 2), (2, 1)],
        [(0, 1), (0, 1), (0, 1), (1, 2), (2, 2), (3, 3)],
    ],
    ids=["one way", "the other way", "both ways", "repeated and self-loops"],
)
def test_adjacency_is_undirected_and_simple(edges: list[tuple[int, int]]) -> None:
    A = adjacency_matrix(graph(4, edges))
    np.testing.assert_array_equal(A.toarray(), PATH)
    assert A.nnz == 4


def test_edges_are_divided_by_the_root_of_both_degrees() -> None:
    A = adjacency_matrix(graph(4, [(0, 1), (1, 2)]))
    np.testing.assert_allclose(normalised(A).toarray(), PATH / np.sqrt(2))


def test_a_graph_without_a_number_of_nodes_is_refused() -> None:
    with pytest.warns(UserWarning, match="num_nodes"), pytest.raises(UserError, match="how many nodes"):
        adjacency_matrix(Data())


def test_an_edge_to_a_node_that_does_not_exist_is_refused() -> None:
    with pytest.raises(ValueError, match="index"):
        adjacency_matrix(graph(4, [(0, 4)]))
