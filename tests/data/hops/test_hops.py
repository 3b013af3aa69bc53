import io
import pickle
from collections.abc import Callable
from contextlib import redirect_stderr
from random import Random

import networkx as nx
import numpy as np
import pytest
import torch
from helpers.graphs import (
    HOPS,
    KINDS,
    any_graphs,
    from_networkx,
    graph,
    graphs,
    hop_batches,
    hops_of,
    sets_of,
    to_networkx,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from torch_geometric.data import Batch, Data, InMemoryDataset
from torch_geometric.data.separate import separate
from torch_geometric.loader import DataLoader

from gredkit.data.hops.index import HopData, add_hops, add_hops_to_all, cut_arrays, hop_arrays
from gredkit.data.hops.search import hop_sets
from gredkit.data.hops.structure import DirectedHops
from gredkit.errors import UserError

INDEX_KEYS = ["hop_set_size", "hop_set_member", "hop_seq_length", "hop_seq_set", "hop_K"]

LARGER = {
    "long path": nx.path_graph(70),  # more sets than there is room for at first
    "large star": nx.star_graph(60),  # sets too large for sorting by insertion
    "grid": nx.grid_2d_graph(9, 9),
    "random": nx.gnp_random_graph(150, 0.03, seed=0),
    "complete": nx.complete_graph(40),
    "many components": nx.disjoint_union_all([nx.cycle_graph(n) for n in range(3, 15)]),
}


def expected_hops(data: Data, K: int | None) -> list[list[list[int]]]:
    """For each node, nearest hop first, the nodes there, by networkx."""
    undirected = to_networkx(data)
    result = []
    for v in range(data.num_nodes):
        distance = nx.single_source_shortest_path_length(undirected, v, cutoff=K)
        levels: list[list[int]] = [[] for _ in range(max(distance.values()) + 1)]
        for u in sorted(distance):
            levels[distance[u]].append(u)
        result.append(levels)
    return result


def assert_right(data: Data, K: int | None) -> None:
    indexed = add_hops(data, K)
    expected = expected_hops(data, K)
    assert hops_of(indexed) == expected  # members ascend, as they do there

    sets = sets_of(indexed)
    assert len({tuple(s) for s in sets}) == len(sets)
    assert sets[: data.num_nodes] == [[v] for v in range(data.num_nodes)]
    assert {tuple(s) for s in sets} == {tuple(s) for levels in expected for s in levels}

    last = max((len(levels) for levels in expected), default=1) - 1 if K is None else K
    assert indexed.hop_K.tolist() == [last]
    profile = [sum(len(levels) > k for levels in expected) for k in range(last + 1)]
    assert isinstance(indexed.hop_profile, np.ndarray)
    assert indexed.hop_profile.tolist() == profile


def assert_same_index(one: HopData, other: HopData) -> None:
    for key in INDEX_KEYS:
        assert one[key].dtype == other[key].dtype
        assert one[key].tolist() == other[key].tolist(), key
    assert isinstance(one.hop_profile, np.ndarray)
    assert one.hop_profile.tolist() == other.hop_profile.tolist()


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
def test_every_hop_of_every_node_is_what_networkx_finds(kind: str, data: st.DataObject) -> None:
    assert_right(data.draw(graphs(kind)), data.draw(HOPS))


@settings(max_examples=20)
@given(data=any_graphs(), K=HOPS, turned=st.randoms(use_true_random=False))
def test_directed_hops_are_what_networkx_finds_against_the_edges(data: Data, K: int | None, turned: Random) -> None:
    kept = [pair for pair in data.edge_index.T.tolist() if turned.random() < 0.6]
    one_way = Data(edge_index=torch.tensor(kept, dtype=torch.long).reshape(-1, 2).T, num_nodes=data.num_nodes)
    backwards = nx.DiGraph((target, source) for source, target in kept)
    backwards.add_nodes_from(range(one_way.num_nodes))
    expected = []
    for v in range(one_way.num_nodes):
        distance = nx.single_source_shortest_path_length(backwards, v, cutoff=K)
        expected.append([sorted(u for u in distance if distance[u] == k) for k in range(max(distance.values()) + 1)])
    assert hops_of(DirectedHops(K).add_to(one_way)) == expected


@pytest.mark.parametrize("K", [0, 1, 3, 1000, None])
@pytest.mark.parametrize("name", LARGER)
def test_hops_of_larger_graphs(name: str, K: int | None) -> None:
    assert_right(from_networkx(LARGER[name]), K)


@given(data=any_graphs(), K=HOPS, constant=st.sampled_from([0, 1, 2**63]))
def test_hash_collisions_change_nothing(data: Data, K: int | None, constant: int) -> None:
    source, target = data.edge_index.numpy()
    weights = np.full(data.num_nodes, constant, np.uint64)
    found = hop_sets(source, target, data.num_nodes, -1 if K is None else K, weights, False)
    expected = add_hops(data, K)
    for key, values in zip(INDEX_KEYS[:4], found, strict=True):
        assert values.tolist() == expected[key].tolist()


@pytest.mark.parametrize("name", LARGER)
def test_hash_collisions_change_nothing_in_larger_graphs(name: str) -> None:
    data = from_networkx(LARGER[name])
    source, target = data.edge_index.numpy()
    found = hop_sets(source, target, data.num_nodes, -1, np.zeros(data.num_nodes, np.uint64), False)
    expected = add_hops(data, None)
    for key, values in zip(INDEX_KEYS[:4], found, strict=True):
        assert values.tolist() == expected[key].tolist()


def test_equal_sets_are_stored_once() -> None:
    """The ends of a path see what the inner nodes see from closer by."""
    indexed = add_hops(graph(4, [(0, 1), (1, 2), (2, 3)]), None)
    assert sets_of(indexed) == [[0], [1], [2], [3], [0, 2], [1, 3]]
    assert indexed.hop_seq_set.tolist() == [0, 1, 2, 3, 1, 4, 3, 2, 5, 0, 3, 2, 1, 0]


def test_the_given_graph_is_not_changed() -> None:
    data = Data(x=torch.randn(3, 2), edge_index=torch.tensor([[0, 1], [1, 2]]), y=torch.tensor([1]), name="path")
    before = data.clone()
    indexed = add_hops(data, 2)
    assert list(data.to_dict()) == ["x", "edge_index", "y", "name"]
    for key in ("x", "edge_index", "y"):
        assert torch.equal(data[key], before[key])
        assert indexed[key] is data[key]
    assert type(data) is Data
    assert indexed.name == "path"


def test_an_index_can_be_replaced_by_one_with_another_K() -> None:
    data = graph(5, [(0, 1), (1, 2), (2, 3), (3, 4)])
    assert_same_index(add_hops(add_hops(data, 1), 3), add_hops(data, 3))


@pytest.mark.parametrize("K", [-1, -7])
def test_negative_K_is_an_error_that_names_it(K: int) -> None:
    with pytest.raises(UserError, match=rf"K .* {K}\b"):
        add_hops(graph(2, [(0, 1)]), K)


@pytest.mark.parametrize(("edge", "named"), [((0, 3), 3), ((7, 1), 7), ((1, -2), -2)])
def test_an_edge_to_a_missing_node_is_an_error_that_names_it(edge: tuple[int, int], named: int) -> None:
    with pytest.raises(UserError, match=rf"node {named}\b.* 3 nodes"):
        add_hops(graph(3, [(0, 1), edge]), 2)


def test_an_edge_in_a_graph_without_nodes_is_an_error() -> None:
    with pytest.raises(UserError, match=r"node 0.* 0 nodes"):
        add_hops(graph(0, [(0, 0)]), 2)


@pytest.mark.parametrize("data", [Data(), Data(edge_index=torch.tensor([[0], [1]])), Data(y=torch.ones(1))])
def test_an_unknown_number_of_nodes_is_an_error(data: Data) -> None:
    with pytest.raises(UserError, match=r"how many nodes.*num_nodes"):
        add_hops(data, 2)


def test_the_number_of_nodes_is_read_from_the_features() -> None:
    assert len(hops_of(add_hops(Data(x=torch.ones(3, 1)), 2))) == 3


@given(members=hop_batches())
def test_a_batch_holds_the_index_of_each_graph_shifted(members: list[HopData]) -> None:
    batch = Batch.from_data_list(members)
    nodes = 0
    expected_sets, expected_hops = [], []
    for data in members:
        expected_sets += [[u + nodes for u in s] for s in sets_of(data)]
        expected_hops += [[[u + nodes for u in s] for s in levels] for levels in hops_of(data)]
        nodes += data.num_nodes
    assert sets_of(batch) == expected_sets
    assert hops_of(batch) == expected_hops
    assert batch.hop_K.tolist() == [data.hop_K.item() for data in members]
    assert [p.tolist() for p in batch.hop_profile] == [data.hop_profile.tolist() for data in members]
    for i, data in enumerate(members):
        assert_same_index(batch.get_example(i), data)


@settings(max_examples=30, deadline=None)
@given(members=hop_batches())
def test_a_dataset_in_memory_gives_back_what_was_put_in(members: list[HopData]) -> None:
    data, slices = InMemoryDataset.collate(members)
    for i, member in enumerate(members):
        single = data if slices is None else separate(HopData, data, i, slices, decrement=False)
        assert_same_index(single, member)


def test_a_loader_with_a_worker_process() -> None:
    members = [add_hops(from_networkx(nx.path_graph(n)), None) for n in (3, 6, 1, 4)]
    batches = list(DataLoader(members, batch_size=2, num_workers=1))
    assert len(batches) == 2
    for i, batch in enumerate(batches):
        pair = members[2 * i : 2 * i + 2]
        direct = Batch.from_data_list(pair)
        for key in INDEX_KEYS:
            assert torch.equal(batch[key], direct[key])
        assert [p.tolist() for p in batch.hop_profile] == [data.hop_profile.tolist() for data in pair]
        assert all(isinstance(p, np.ndarray) for p in batch.hop_profile)


COPIES: dict[str, Callable[[Data], Data]] = {
    "to": lambda data: data.to("cpu"),
    "clone": lambda data: data.clone(),
    "pickle": lambda data: pickle.loads(pickle.dumps(data)),
}


@pytest.mark.parametrize("copy", COPIES.values(), ids=COPIES)
def test_an_index_survives_being_copied(copy: Callable[[Data], Data]) -> None:
    members = [add_hops(from_networkx(nx.path_graph(n)), None) for n in (3, 6)]
    single = copy(members[1])
    assert type(single) is HopData
    assert_same_index(single, members[1])
    batch = copy(Batch.from_data_list(members))
    for data, member in zip(batch.to_data_list(), members, strict=True):
        assert_same_index(data, member)


def test_the_profile_stays_on_the_host() -> None:
    members = [add_hops(from_networkx(nx.path_graph(n)), None) for n in (3, 6)]
    moved = Batch.from_data_list(members).to("meta")
    assert moved.hop_seq_set.device.type == "meta"
    assert [p.tolist() for p in moved.hop_profile] == [[3, 3, 2], [6, 6, 6, 6, 4, 2]]
    assert all(isinstance(p, np.ndarray) for p in moved.hop_profile)


@pytest.mark.parametrize("workers", [1, 3, None])
def test_many_graphs_at_once_are_as_one_by_one(workers: int | None) -> None:
    """More graphs than a worker takes at a time, so that order could be lost."""
    members = [from_networkx(nx.gnp_random_graph(3 + i % 7, 0.4, seed=i)) for i in range(150)]
    indexed = add_hops_to_all(iter(members), 2, workers=workers, progress=False)
    assert len(indexed) == len(members)
    for data, found in zip(members, indexed, strict=True):
        assert_same_index(found, add_hops(data, 2))


def test_many_graphs_may_be_none() -> None:
    assert add_hops_to_all([], 2, progress=False) == []


def test_an_error_in_one_of_many_graphs_reaches_the_caller() -> None:
    members = [graph(2, [(0, 1)])] * 70 + [graph(2, [(0, 5)])]
    with pytest.raises(UserError, match="node 5"):
        add_hops_to_all(members, 2, workers=2, progress=False)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_progress_is_shown_on_a_terminal_alone() -> None:
    members = [graph(2, [(0, 1)])] * 5
    with redirect_stderr(Terminal()) as terminal, redirect_stderr(io.StringIO()) as file:
        add_hops_to_all(members, 2)
        with redirect_stderr(terminal):
            add_hops_to_all(members, 2, progress=False)
            assert terminal.getvalue() == ""
            add_hops_to_all(members, 2)
    assert file.getvalue() == ""
    assert "5/5" in terminal.getvalue()


@given(data=any_graphs(), K=st.integers(0, 5), more=st.one_of(st.integers(0, 3), st.none()))
def test_a_smaller_K_is_cut_from_a_larger_one(data: Data, K: int, more: int | None) -> None:
    """To the same arrays as a search: also where K is larger than any distance."""
    cut = cut_arrays(hop_arrays(data, None if more is None else K + more), K)
    for found, expected in zip(cut, hop_arrays(data, K), strict=True):
        assert found.dtype == expected.dtype
        assert found.tolist() == expected.tolist()


@pytest.mark.parametrize("name", LARGER)
def test_a_smaller_K_of_larger_graphs_is_cut_from_a_larger_one(name: str) -> None:
    data = from_networkx(LARGER[name])
    whole = hop_arrays(data, None)
    for K in (0, 1, 2, 5, 100):
        for found, expected in zip(cut_arrays(whole, K), hop_arrays(data, K), strict=True):
            assert found.tolist() == expected.tolist()


@pytest.mark.parametrize(
    ("edge_index", "said"),
    [
        (torch.tensor([[0.0], [1.0]]), "torch.float32: give whole numbers"),
        (torch.tensor([0, 1]), "edge_index is 2: give two rows"),
        (torch.tensor([[0], [1], [2]]), "edge_index is 3 x 1: give two rows"),
        (torch.tensor([[True], [False]]), "torch.bool: give whole numbers"),
        ([[0], [1]], "edge_index is list: give a tensor"),
    ],
)
def test_edges_are_two_rows_of_node_numbers(edge_index, said):
    with pytest.raises(UserError, match=said):
        add_hops(Data(x=torch.zeros(3, 1), edge_index=edge_index), 2)
