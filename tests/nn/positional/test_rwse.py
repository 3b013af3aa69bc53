import numpy as np
import pytest
import torch
from helpers.graphs import any_graphs, graph, permuted
from hypothesis import given, settings
from hypothesis import strategies as st
from torch_geometric.data import Data

from gredkit.nn.positional.graph import adjacency_matrix
from gredkit.nn.positional.rwse import RWSE, return_probabilities


def oracle(data: Data, steps: int) -> np.ndarray:
    """The diagonals of explicit matrix powers."""
    A = np.zeros((data.num_nodes, data.num_nodes))
    for u, v in data.edge_index.T.tolist():
        A[u, v] = A[v, u] = float(u != v)
    P = A / np.maximum(A.sum(1, keepdims=True), 1)
    return np.stack([np.linalg.matrix_power(P, t).diagonal() for t in range(1, steps + 1)], 1)


@settings(deadline=None)
@given(any_graphs(), st.integers(1, 9))
def test_return_probabilities_are_diagonals_of_matrix_powers(data: Data, steps: int) -> None:
    np.testing.assert_allclose(RWSE(steps).precompute(data), oracle(data, steps), atol=1e-6)


@settings(deadline=None)
@given(any_graphs(), st.integers(1, 5))
def test_columns_may_be_computed_a_few_at_a_time(data: Data, columns: int) -> None:
    some = return_probabilities(adjacency_matrix(data), 6, cells=columns * data.num_nodes)
    np.testing.assert_allclose(some, oracle(data, 6), atol=1e-12)


@settings(deadline=None)
@given(any_graphs(), st.data())
def test_rows_follow_the_order_of_the_nodes(data: Data, draw: st.DataObject) -> None:
    order = draw.draw(st.permutations(range(data.num_nodes)))
    torch.testing.assert_close(RWSE().precompute(permuted(data, order))[order], RWSE().precompute(data))


@settings(deadline=None)
@given(any_graphs(), any_graphs())
def test_components_do_not_see_each_other(a: Data, b: Data) -> None:
    both = graph(a.num_nodes + b.num_nodes, torch.cat([a.edge_index, b.edge_index + a.num_nodes], 1).T.tolist())
    pe = RWSE()
    torch.testing.assert_close(pe.precompute(both), torch.cat([pe.precompute(a), pe.precompute(b)]))


def test_a_triangle_and_an_isolated_node() -> None:
    data = graph(4, [(0, 1), (1, 2), (2, 0), (3, 3)])
    expected = torch.tensor([[0, 1 / 2, 1 / 4, 3 / 8]] * 3 + [[0.0] * 4])
    torch.testing.assert_close(RWSE(steps=4).precompute(data), expected)


@pytest.mark.parametrize("nodes", [0, 1, 3])
def test_without_edges_all_is_zero(nodes: int) -> None:
    assert torch.equal(RWSE(steps=5).precompute(Data(num_nodes=nodes)), torch.zeros(nodes, 5))


def test_module_is_two_dense_layers() -> None:
    pe = RWSE(steps=3, width=5)
    data = pe.add_to(graph(3, [(0, 1), (1, 2)]))
    first, second = (m for m in pe.mlp if isinstance(m, torch.nn.Linear))
    hidden = torch.nn.functional.gelu(data.pe_rwse @ first.weight.T + first.bias)
    torch.testing.assert_close(pe(data), hidden @ second.weight.T + second.bias)
