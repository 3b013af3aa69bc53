from itertools import product

import networkx as nx
import numpy as np
import pytest
import torch
from helpers.graphs import MAX_NODES, any_graphs, from_networkx, graph, permuted, to_networkx
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from torch import Tensor
from torch_geometric.data import Batch, Data

from gredkit.nn.positional.graph import adjacency_matrix
from gredkit.nn.positional.lap_pe import LapPE, random_signs
from gredkit.nn.positional.laplacian import (
    LARGEST_DENSE,
    eigenpairs_dense,
    eigenpairs_sparse,
    eigenvectors,
    with_sign,
)


def laplacian(data: Data) -> np.ndarray:
    """The oracle, entry by entry."""
    simple = to_networkx(data)
    simple.remove_edges_from(list(nx.selfloop_edges(simple)))
    L = np.zeros((data.num_nodes, data.num_nodes))
    for u, v in simple.edges:
        L[u, v] = L[v, u] = -1 / np.sqrt(simple.degree[u] * simple.degree[v])
    for u in simple:
        L[u, u] = float(simple.degree[u] > 0)
    return L


def nontrivial(data: Data) -> np.ndarray:
    """All eigenvalues but one zero for each component."""
    return np.linalg.eigvalsh(laplacian(data))[nx.number_connected_components(to_networkx(data)) :]


def joined(a: Data, b: Data) -> Data:
    """Both graphs in one, side by side."""
    return graph(a.num_nodes + b.num_nodes, torch.cat([a.edge_index, b.edge_index + a.num_nodes], 1).T.tolist())


def lap_pe(data: Data, k: int) -> np.ndarray:
    return LapPE(k).precompute(data).double().numpy()


@settings(deadline=None)
@given(any_graphs(), st.integers(1, 14))
def test_columns_are_the_first_nontrivial_eigenvectors(data: Data, k: int) -> None:
    pe, values = lap_pe(data, k), nontrivial(data)[:k]
    V = pe[:, : len(values)]
    np.testing.assert_allclose(laplacian(data) @ V, V * values, atol=1e-6)
    np.testing.assert_allclose(V.T @ V, np.eye(len(values)), atol=1e-6)
    assert not pe[:, len(values) :].any()
    assert pe.shape == (data.num_nodes, k)


@settings(deadline=None)
@given(any_graphs())
def test_an_eigenvector_lives_on_one_component(data: Data) -> None:
    for column in lap_pe(data, 12).T:
        reached = [c for c in nx.connected_components(to_networkx(data)) if column[list(c)].any()]
        assert len(reached) <= 1


@settings(deadline=None)
@given(any_graphs(), any_graphs())
def test_a_disconnected_graph_has_the_eigenvectors_of_its_parts(a: Data, b: Data) -> None:
    pe = lap_pe(joined(a, b), MAX_NODES * 2)
    for part, rows in ((a, slice(0, a.num_nodes)), (b, slice(a.num_nodes, None))):
        alone = lap_pe(part, MAX_NODES)
        np.testing.assert_array_equal(pe[rows][:, pe[rows].any(0)], alone[:, alone.any(0)])


@pytest.mark.parametrize("length", [2, 3, 7, 12])
def test_equal_eigenvalues_come_in_the_order_of_their_components(length: int) -> None:
    copies = 3
    orders = [np.random.default_rng(seed).permutation(length) for seed in range(copies)]
    edges = [
        (copies * order[i] + c, copies * order[i + 1] + c) for c, order in enumerate(orders) for i in range(length - 1)
    ]
    pe = lap_pe(graph(copies * length, edges), copies * (length - 1))
    owner = [int(np.flatnonzero(column)[0]) % copies for column in pe.T]
    assert owner == list(range(copies)) * (length - 1)


@settings(deadline=None)
@given(any_graphs(), st.data())
def test_order_of_the_nodes_changes_simple_eigenvectors_by_a_sign_at_most(data: Data, draw: st.DataObject) -> None:
    order = draw.draw(st.permutations(range(data.num_nodes)))
    values = nontrivial(data)
    before, after = lap_pe(data, MAX_NODES), lap_pe(permuted(data, order), MAX_NODES)[order]
    for i, value in enumerate(values):
        if np.sum(abs(values - value) < 1e-3) == 1:
            np.testing.assert_allclose(abs(before[:, i] @ after[:, i]), 1, atol=1e-6)
            first, second = np.sort(abs(before[:, i]))[[-1, -2]]
            if first - second > 1e-3:  # one largest entry: the sign does not depend on the order either
                np.testing.assert_allclose(before[:, i], after[:, i], atol=1e-5)


@settings(deadline=None)
@given(any_graphs(), st.data())
def test_self_loops_repeated_edges_and_directions_change_nothing(data: Data, draw: st.DataObject) -> None:
    edges = data.edge_index.T.tolist()
    more = [*edges, *([v, u] for u, v in edges), *edges[:3], *([v, v] for v in range(0, data.num_nodes, 2))]
    other = graph(data.num_nodes, draw.draw(st.permutations(more)))
    assert torch.equal(LapPE(6).precompute(other), LapPE(6).precompute(data))


@pytest.mark.parametrize("data", [Data(num_nodes=0), Data(num_nodes=1), Data(num_nodes=4)])
def test_without_edges_all_is_zero(data: Data) -> None:
    assert torch.equal(LapPE(3).precompute(data), torch.zeros(data.num_nodes, 3))


@settings(deadline=None)
@given(
    st.lists(st.integers(-10, 10), min_size=1, max_size=8).filter(any),
    st.lists(st.floats(-1e-8, 1e-8), min_size=16, max_size=16),
)
def test_the_sign_withstands_rounding_errors(half: list[int], noise: list[float]) -> None:
    vector = np.array(half + [-x for x in half]) / 10  # every size twice, with both signs
    clear = with_sign(vector)
    np.testing.assert_allclose(with_sign(vector + noise[: len(vector)]), clear, atol=1e-7)
    np.testing.assert_array_equal(with_sign(-vector), clear)
    assert clear[abs(vector).argmax()] > 0


@settings(deadline=None)
@given(any_graphs())
def test_signs_are_fixed_by_the_largest_entry(data: Data) -> None:
    for column in lap_pe(data, 8).T:
        assert column.max(initial=0) >= abs(column).max(initial=0) * (1 - 1e-5)


def test_dense_and_sparse_solvers_agree() -> None:
    tree = nx.random_labeled_tree(250, seed=3)
    L = csr_array(laplacian(from_networkx(tree)))
    dense_values, dense = eigenpairs_dense(L, 11)
    sparse_values, sparse = eigenpairs_sparse(L, 11)
    assert np.diff(dense_values).min() > 1e-4
    np.testing.assert_allclose(sparse_values, dense_values, atol=1e-12)
    np.testing.assert_allclose(sparse * np.sign((sparse * dense).sum(0)), dense, atol=1e-9)


@pytest.mark.parametrize(
    "source",
    [
        nx.path_graph(1100),  # smallest eigenvalue 4e-6
        nx.star_graph(500),  # λ = 1 499 times
        nx.hypercube_graph(9),  # λ = 2/9 nine times
        nx.grid_2d_graph(22, 22, periodic=True),  # λ_1 four times
        nx.barabasi_albert_graph(600, 3, seed=0),
    ],
    ids=["path", "star", "hypercube", "torus", "scale-free"],
)
def test_large_components_have_the_right_eigenvectors(source: nx.Graph) -> None:
    data = from_networkx(source)
    assert data.num_nodes > LARGEST_DENSE
    L, values = laplacian(data), nontrivial(data)[:10]
    V = eigenvectors(adjacency_matrix(data), 10)
    np.testing.assert_allclose(L @ V, V * values, atol=1e-11)
    np.testing.assert_allclose(V.T @ V, np.eye(10), atol=1e-11)
    assert np.array_equal(eigenvectors(adjacency_matrix(data), 10), V)


def test_more_eigenvectors_than_a_large_graph_has() -> None:
    data = from_networkx(nx.path_graph(LARGEST_DENSE + 10))
    V = eigenvectors(adjacency_matrix(data), LARGEST_DENSE + 20)
    np.testing.assert_allclose(np.linalg.norm(V, axis=0), [1] * (LARGEST_DENSE + 9) + [0] * 11, atol=1e-9)


def batch_of_paths(pe: LapPE, count: int) -> Batch:
    return Batch.from_data_list([pe.add_to(from_networkx(nx.path_graph(3 + i % 4))) for i in range(count)])


def signed(pe: LapPE, values: Tensor) -> list[Tensor]:
    """The outputs for every choice of signs."""
    return [pe.mlp(values * torch.tensor(s)) for s in product([1.0, -1.0], repeat=pe.k)]


def test_training_draws_one_sign_for_each_graph_and_eigenvector() -> None:
    torch.manual_seed(0)
    pe = LapPE(k=2).train()
    batch = batch_of_paths(pe, 64)
    out = pe(batch)
    drawn = []
    for i, path in enumerate(batch.to_data_list()):
        rows = out[batch.batch == i]
        fits = [torch.allclose(rows, choice, atol=1e-6) for choice in signed(pe, path.pe_lap)]
        assert sum(fits) == 1
        drawn.append(fits.index(True))
    assert set(drawn) == {0, 1, 2, 3}
    assert not torch.equal(pe(batch), out)


def test_training_draws_signs_for_a_graph_that_is_in_no_batch() -> None:
    torch.manual_seed(0)
    pe = LapPE(k=2).train()
    path = pe.add_to(from_networkx(nx.path_graph(5)))
    choices = signed(pe, path.pe_lap)
    drawn = set()
    for _ in range(40):
        out = pe(path)
        drawn.add([torch.allclose(out, choice, atol=1e-6) for choice in choices].index(True))
    assert drawn == {0, 1, 2, 3}


def test_random_signs_change_nothing_else() -> None:
    torch.manual_seed(0)
    batch = batch_of_paths(LapPE(4), 20)
    values = torch.randn(batch.num_nodes, 4)
    flipped = random_signs(values, batch)
    assert torch.equal(flipped.abs(), values.abs())
    assert 0 < (flipped != values).float().mean() < 1


def test_evaluation_reads_the_stored_signs() -> None:
    pe = LapPE(k=2).eval()
    batch = batch_of_paths(pe, 8)
    assert torch.equal(pe(batch), pe.mlp(batch.pe_lap))
    assert torch.equal(pe(batch), pe(batch))
