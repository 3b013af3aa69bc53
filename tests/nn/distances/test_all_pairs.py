"""Pairs of nodes, random walks between them and the signed root, against plain computations."""

import numpy as np
import pytest
import torch
from helpers.graphs import any_graphs, to_networkx
from hypothesis import given, settings
from hypothesis import strategies as st
from torch_geometric.data import Batch

from gredkit.nn.distances.all_pairs import AllPairs, graph_sizes
from gredkit.nn.distances.rrwp import ORIENTATIONS, adjacency, rrwp
from gredkit.nn.distances.signed_root import signed_root


@pytest.mark.parametrize("sizes", [[3, 0, 1, 2], [2], [0], []])
def test_all_ordered_pairs_of_a_graph_in_order(sizes):
    pairs = AllPairs(sizes, torch.device("cpu"))
    starts = np.cumsum([0, *sizes])
    expected = [(s + a, s + b) for s, n in zip(starts, sizes, strict=False) for a in range(n) for b in range(n)]
    assert list(zip(pairs.first.tolist(), pairs.second.tolist(), strict=True)) == expected
    assert pairs.number(pairs.first, pairs.second).tolist() == list(range(len(expected)))
    rows = torch.arange(2.0 * pairs.count).view(-1, 2)
    by_first = torch.zeros(pairs.num_nodes, 2).index_add(0, pairs.first, rows)
    assert torch.equal(pairs.by_first.sum(rows), by_first)
    assert torch.equal(pairs.to_first.transposed.sum(rows), by_first)
    assert torch.equal(pairs.by_first.transposed.sum(by_first), by_first[pairs.first])


@settings(max_examples=25, deadline=None)
@given(st.lists(any_graphs(), min_size=1, max_size=3), st.integers(1, 4), st.sampled_from(ORIENTATIONS))
def test_walks_are_powers_of_the_transition_matrix(graphs, steps, orientation):
    for one in graphs:
        one.x = torch.zeros(one.num_nodes, 1)
    batch = Batch.from_data_list(graphs)
    assert graph_sizes(batch) == [one.num_nodes for one in graphs]
    pairs = AllPairs.of(batch)
    found, expected = rrwp(adjacency(batch, pairs, torch.double), pairs, steps, orientation), []
    for one in graphs:
        neighbours = to_networkx(one)
        n = one.num_nodes
        A = np.array([[float(u != v and neighbours.has_edge(u, v)) for v in range(n)] for u in range(n)]).reshape(n, n)
        P = A / np.maximum(A.sum(1, keepdims=True), 1)
        R = np.stack([np.linalg.matrix_power(P, k) for k in range(steps)], 2)
        expected.append((R if orientation == "target_row" else R.transpose(1, 0, 2)).reshape(n * n, steps))
    torch.testing.assert_close(found, torch.from_numpy(np.concatenate(expected)))


def test_the_signed_root_has_a_finite_gradient_everywhere():
    x = torch.tensor([-4.0, -0.25, 0.0, 1.0, 9.0], dtype=torch.double, requires_grad=True)
    root = signed_root(x)
    (grad,) = torch.autograd.grad(root.sum(), x)
    assert root.tolist() == [-2, -0.5, 0, 1, 3]
    assert grad.tolist() == [0.25, 1, 0, 0.5, 1 / 6]
    away = torch.tensor([-2.0, 0.5, 3.0], dtype=torch.double, requires_grad=True)
    assert torch.autograd.gradcheck(signed_root, away)
    mapped = torch.func.vmap(torch.func.grad(signed_root))(away.detach())
    torch.testing.assert_close(mapped, 1 / (2 * away.detach().abs().sqrt()))
