"""What stands at place k: every extractor against an independent dense computation, and what all have in common."""

import copy
from collections.abc import Callable
from functools import partial
from typing import Any

import networkx as nx
import numpy as np
import pytest
import torch
from helpers.graphs import any_graphs, from_networkx, graph, hops_of, sequences_of, small_graphs, split
from hypothesis import given, settings
from hypothesis import strategies as st
from torch_geometric.data import Batch, Data

from gredkit import GRED, GraphSpec, add_hops, add_needs
from gredkit.ablation.plan import make_plan
from gredkit.config.bindings import load
from gredkit.config.source import Source
from gredkit.data.hops.cache import prepare
from gredkit.data.hops.random import RandomHops
from gredkit.errors import UserError
from gredkit.nn.composition import Composition
from gredkit.nn.kernels.call import CALLED
from gredkit.nn.models.base import needs_of
from gredkit.registry import AGGREGATORS, SEQUENCES

FEW = settings(max_examples=25, deadline=None)


# random_hops


@FEW
@given(any_graphs(), st.one_of(st.integers(0, 4), st.none()), st.integers(0, 2))
def test_random_hops_have_the_sizes_of_the_hops_and_no_node_twice(data, K, seed):
    real, drawn = add_hops(data, K), RandomHops(K, seed).add_to(data)
    again = RandomHops(K, seed).add_to(copy.copy(data))
    assert torch.equal(drawn.hop_set_member, again.hop_set_member)
    for v, (theirs, ours) in enumerate(zip(hops_of(real), hops_of(drawn), strict=True)):
        assert [len(hop) for hop in ours] == [len(hop) for hop in theirs]
        assert ours[0] == [v]
        every = [u for hop in ours for u in hop]
        assert len(set(every)) == len(every)
    assert torch.equal(drawn.hop_K, real.hop_K)
    assert np.array_equal(drawn.hop_profile, real.hop_profile)


def test_random_hops_are_others_than_the_hops_and_depend_on_seed_and_graph():
    path = graph(12, [(v, v + 1) for v in range(11)])
    turned = graph(12, [(v, (v + 1) % 12) for v in range(12)])
    drawn = [hops_of(RandomHops(3, seed).add_to(path)) for seed in (0, 1)]
    assert drawn[0] != drawn[1]
    assert drawn[0] != hops_of(add_hops(path, 3))
    rings = [hops_of(RandomHops(3).add_to(one)) for one in (turned, graph(13, [(v, (v + 1) % 13) for v in range(13)]))]
    assert rings[0] != rings[1][:12]
    symbols = torch.eye(12, dtype=torch.long)[:, :1]
    same_edges = [
        hops_of(RandomHops(3).add_to(Data(x=x, edge_index=turned.edge_index))) for x in (symbols, 1 - symbols)
    ]
    assert same_edges[0] != same_edges[1]


def test_every_place_of_a_random_sequence_can_have_any_other_node():
    ring = graph(6, [(v, (v + 1) % 6) for v in range(6)])
    seen = {u for seed in range(60) for u in hops_of(RandomHops(1, seed).add_to(ring))[2][1]}
    assert seen == {0, 1, 3, 4, 5}


# Walks, against dense matrices


def adjacency(data: Data) -> np.ndarray:
    """Undirected, without self-loops. Shape: -> [nodes, nodes]"""
    found = np.zeros((data.num_nodes, data.num_nodes))
    for u, v in data.edge_index.T.tolist():
        if u != v:
            found[u, v] = found[v, u] = 1
    return found


def inverse(values: np.ndarray) -> np.ndarray:
    return np.divide(1, values, out=np.zeros_like(values), where=values > 0)


def by_powers(data: Data, h: np.ndarray, K: int, normalisation: str) -> list[np.ndarray]:
    A = adjacency(data)
    row, root = np.diag(inverse(A.sum(1))), np.diag(np.sqrt(inverse(A.sum(1))))
    step = row @ A if normalisation == "row" else root @ A @ root
    return [np.linalg.matrix_power(step, k) @ h for k in range(K + 1)]


def by_hashimoto(data: Data, h: np.ndarray, K: int) -> list[np.ndarray]:
    """Over directed edges: B[(u, v), (v, w)] = 1 / (d_v - 1) for w ≠ u."""
    A = adjacency(data)
    degree, edges = A.sum(1), [tuple(edge) for edge in np.argwhere(A)]
    B = np.array([[(v == w and x != u) / max(degree[v] - 1, 1) for w, x in edges] for u, v in edges])
    B = B.reshape(len(edges), len(edges))
    first = np.array([[(u == v) / max(degree[v], 1) for u, _ in edges] for v in range(len(A))]).reshape(
        len(A), len(edges)
    )
    last = np.array([[v == u for u in range(len(A))] for _, v in edges]).reshape(len(edges), len(A))
    return [h, *(first @ np.linalg.matrix_power(B, k) @ last @ h for k in range(K))]


ORACLES: dict[str, tuple[Any, Callable[..., list[np.ndarray]]]] = {
    "powers, row": (SEQUENCES["powers"](), partial(by_powers, normalisation="row")),
    "powers, symmetric": (SEQUENCES["powers"]("symmetric"), partial(by_powers, normalisation="symmetric")),
    "non_backtracking": (SEQUENCES["non_backtracking"](), by_hashimoto),
}


@pytest.mark.parametrize("name", ORACLES)
@FEW
@given(st.lists(any_graphs(), min_size=1, max_size=3), st.integers(0, 5))
def test_walks_are_products_of_dense_matrices(name, graphs, K):
    sequence, oracle = ORACLES[name]
    carrying = [data for data in graphs if data.num_nodes]
    for structure in sequence.needs(K):
        carrying = [structure.add_to(data) for data in carrying]
    if not carrying:
        return
    hops = sequence(Batch.from_data_list(carrying))
    h = torch.randn(hops.num_nodes, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    found = sequence.aggregator(AGGREGATORS["sum"])(3)(h, hops)
    assert (found[-1] == 0).all()
    places = found[:-1].view(hops.num_nodes, K + 1, 3)
    parts = torch.tensor_split(h, np.cumsum([data.num_nodes for data in carrying])[:-1].tolist())
    dense = [np.stack(oracle(d, part.numpy(), K), 1) for d, part in zip(carrying, parts, strict=True)]
    expected = torch.from_numpy(np.concatenate(dense))
    torch.testing.assert_close(places, expected, rtol=1e-9, atol=1e-9)
    # What is read are these rows in order, up to the last place that a walk reaches.
    for v, sequence_of_v in enumerate(sequences_of(hops)):
        assert sequence_of_v == list(range(v * (K + 1), v * (K + 1) + len(sequence_of_v)))
        assert not expected[v, len(sequence_of_v) :].any()


def test_a_walk_that_goes_on_is_read_to_its_end():
    tree = from_networkx(nx.star_graph(3))
    assert SEQUENCES["non_backtracking"]().needs(5)[0].add_to(tree).hop_seq_length.tolist() == [2, 3, 3, 3]
    assert SEQUENCES["powers"]().needs(5)[0].add_to(tree).hop_seq_length.tolist() == [6] * 4
    ring = from_networkx(nx.lollipop_graph(3, 2))
    assert SEQUENCES["non_backtracking"]().needs(5)[0].add_to(ring).hop_seq_length.tolist() == [6] * 5


def test_on_a_tree_walks_that_do_not_turn_lead_to_the_nodes_at_their_distance():
    tree = from_networkx(nx.balanced_tree(2, 3))
    sequence = SEQUENCES["non_backtracking"]()
    hops = sequence(sequence.needs(6)[0].add_to(tree))
    found = sequence.aggregator(AGGREGATORS["sum"])(15)(torch.eye(15), hops)[:-1].view(15, 7, 15)
    for v, expected in enumerate(hops_of(add_hops(tree, None))):
        assert [row.nonzero().flatten().tolist() for row in found[v]][: len(expected)] == expected


@pytest.mark.parametrize("name", ["powers", "non_backtracking"])
def test_walks_need_sums_and_an_end(name):
    for aggregator in set(AGGREGATORS) - {"sum"}:
        with pytest.raises(UserError, match=r"use variant.aggregator = 'sum'$"):
            GRED(GraphSpec(nodes=3, outputs=1), dim=8, sequence=name, aggregator=aggregator)
    model = GRED(GraphSpec(nodes=3, outputs=1), dim=8, sequence=name)
    with pytest.raises(UserError, match=r"walks have no end .*: set trial.K to a number, or to 'dataset'$"):
        model.needs(None)
    with pytest.raises(UserError, match="does not carry its walks"):
        model(Batch.from_data_list(small_graphs(2)))


# hops_with_edges


def members(data: Data, K: int | None) -> list[list[set[tuple[str, int, int]]]]:
    """For each node and hop the members, by distances in a dense matrix."""
    A = adjacency(data)
    far = np.full(A.shape, np.inf)
    for k in range(len(A), -1, -1):
        far[np.linalg.matrix_power(A + np.eye(len(A)), k) > 0] = k
    last = far[np.isfinite(far)].max(initial=0) if K is None else K
    edges = [(a, b) for a, b in np.argwhere(A).tolist() if a < b]
    found: list[list[set[tuple[str, int, int]]]] = []
    for d in far:
        found.append([])
        for k in range(int(min(last, d[np.isfinite(d)].max())) + 1):
            inside = {("inside", a, b) for a, b in edges if d[a] == d[b] == k}
            onwards = {("onwards", a, b) for a, b in np.argwhere(A).tolist() if d[a] == k and d[b] == k + 1 <= last}
            found[-1].append({("node", u, u) for u in np.flatnonzero(d == k).tolist()} | inside | onwards)
    return found


@FEW
@given(st.lists(any_graphs(), min_size=1, max_size=3), st.one_of(st.integers(0, 3), st.none()))
def test_hops_have_their_edges(graphs, K):
    sequence = SEQUENCES["hops_with_edges"]()
    carry = [sequence.needs(K)[0].add_to(data) for data in graphs]
    hops = sequence(Batch.from_data_list(carry))
    ends = hops.links.T.tolist()
    named = [("node", v, v) for v in range(hops.num_nodes)] + [("inside", a, b) for a, b in ends]
    named += [("onwards", a, b) for a, b in ends] + [("onwards", b, a) for a, b in ends]
    assert len(named) == hops.num_members
    sets = [[named[m] for m in one] for one in split(hops.set_member.tolist(), hops.set_size.tolist())]
    assert all(len(set(one)) == len(one) for one in sets)
    found = [[set(sets[s]) for s in one] for one in sequences_of(hops)]
    expected, shift = [], 0
    for data in graphs:
        expected += [
            [{(kind, a + shift, b + shift) for kind, a, b in hop} for hop in hops_of_v]
            for hops_of_v in members(data, K)
        ]
        shift += data.num_nodes
    assert found == expected
    assert hops.targets.columns.unique().numel() == hops.num_nodes


@pytest.mark.parametrize("aggregator", AGGREGATORS)
def test_edges_tell_graphs_apart_that_have_the_same_hops(aggregator):
    """A prism and K(3,3): all nodes have three neighbours and two nodes behind them; only the prism has triangles."""
    prism, bipartite = (from_networkx(g) for g in (nx.circular_ladder_graph(3), nx.complete_bipartite_graph(3, 3)))
    for one in (prism, bipartite):
        one.x = torch.zeros(6, 1, dtype=torch.long)
    for name, differs in (("hops", False), ("hops_with_edges", True)):
        model = built(name, aggregator=aggregator)
        ours, theirs = (
            model(Batch.from_data_list([needs_of(model, None)[0].add_to(one)])) for one in (prism, bipartite)
        )
        assert torch.allclose(ours, theirs, atol=1e-5) is not differs


# All of them

EVERY = pytest.mark.parametrize("name", SEQUENCES)
SPEC = GraphSpec(nodes=(4,), outputs=2)


def carrying(model: GRED, K: int | None, *given: Data) -> Batch:
    for data in given:
        data.x = torch.arange(data.num_nodes)[:, None] % 4
    return Batch.from_data_list([add_needs(data, model, K) for data in given])


def built(name: str, **more: Any) -> GRED:
    torch.manual_seed(0)
    return GRED(SPEC, dim=8, layers=2, sequence=name, **more)


HOUSE = graph(6, [(0, 1), (1, 2), (2, 3), (3, 0), (0, 4), (1, 4)])  # and a node alone
PATH = graph(7, [(v, v + 1) for v in range(6)])


@EVERY
@pytest.mark.needs("compiler")
@pytest.mark.parametrize("empty_hops", ["constant", "zero"])
def test_kernels_compute_what_the_modules_compute(name, empty_hops):
    model = built(name, empty_hops=empty_hops)
    batch = carrying(model, 3, HOUSE, PATH)
    gradients: list[list[torch.Tensor]] = []
    CALLED.clear()
    for once in (model, copy.deepcopy(model).double()):
        out = once(batch)
        gradients.append([out.detach(), *torch.autograd.grad(out.square().sum(), list(once.parameters()))])
    assert {"layers_forward"} & CALLED
    for ours, theirs in zip(*gradients, strict=True):
        assert (ours - theirs).abs().max() <= 1e-4 * max(theirs.abs().max().item(), 0.1)


@EVERY
@pytest.mark.parametrize("encoder", ["gru", "attention", "mean"])
def test_every_kind_of_encoder_reads_it_and_the_other_graphs_of_a_batch_do_not_matter(name, encoder):
    model = built(name, encoder=encoder)
    apart = torch.cat([model(carrying(model, 4, one)) for one in (HOUSE, PATH)])
    torch.testing.assert_close(model(carrying(model, 4, HOUSE, PATH)), apart, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", sorted(set(SEQUENCES) - {"random_hops"}))
def test_the_order_of_nodes_does_not_matter(name):
    model = built(name)
    order = torch.tensor([3, 0, 4, 1, 2, 5])  # node v becomes order[v]
    ours = carrying(model, 3, HOUSE)
    theirs = copy.copy(HOUSE)
    theirs.edge_index = order[HOUSE.edge_index]
    turned = carrying(model, 3, theirs)
    turned.x = torch.empty_like(ours.x).index_copy(0, order, ours.x)
    torch.testing.assert_close(model(turned), model(ours), rtol=1e-4, atol=1e-5)


@EVERY
def test_gin_chooses_it_and_it_is_a_setting_of_the_trial(name):
    composition = load([], [f"variant.sequence = '{name}'", "DIM = 8", "LAYERS = 1"]).composition(SPEC)
    assert composition.flat()["sequence"] == name
    assert isinstance(composition.build(SPEC).sequence, SEQUENCES[name])
    assert Composition.from_dict(composition.to_dict()) == composition


@EVERY
def test_what_it_needs_comes_from_the_cache_as_it_was_computed(name, tmp_path):
    model = built(name)
    graphs = [copy.copy(one) for one in (HOUSE, PATH)]
    for one in graphs:
        one.x = torch.arange(one.num_nodes)[:, None] % 4
    for _ in range(2):
        stored = Batch.from_data_list(prepare(graphs, needs_of(model, 3), tmp_path, progress=False))
        assert torch.equal(model(stored), model(carrying(model, 3, HOUSE, PATH)))


def test_a_study_without_an_end_is_refused_before_training(tmp_path):
    axes = "study.axes = {'variant.sequence': ['hops', 'powers']}"
    (tmp_path / "study.gin").write_text(f"{axes}\ndatasets.ring_transfer.graphs = 20\nDIM = 8\n")
    with pytest.raises(UserError, match="walks have no end"):
        make_plan(Source((str(tmp_path / "study.gin"),)))
    plan = make_plan(Source((str(tmp_path / "study.gin"),), ("K = 'dataset'",)))
    assert {trial.variant for trial in plan.trials} == {"hops", "powers"}
