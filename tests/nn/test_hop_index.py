from dataclasses import replace

import pytest
import torch
from helpers.graphs import (
    from_networkx,
    graph,
    hop_batches,
    hops_of,
    index_of,
    long_graph,
    sequences_of,
    sets_of,
    small_graphs,
    split,
)
from hypothesis import given
from networkx import cycle_graph
from torch_geometric.data import Batch

from gredkit.data.hops.index import HopData, add_hops
from gredkit.nn.hop_index import HopIndex
from gredkit.nn.incidence import Incidence


def rows_of(matrix: Incidence) -> list[list[int]]:
    """The columns of each row."""
    assert matrix.start[0] == 0
    return split(matrix.columns.tolist(), matrix.start.diff().tolist())


def assert_forms_agree(hops: HopIndex, sequences: list[list[int]]) -> None:
    """Every form of the index says what the plain sequences of sets say."""
    width = max(map(len, sequences), default=0)
    columns = hops.num_sets + 1
    assert hops.num_nodes == len(sequences)
    assert hops.width == width
    assert sequences_of(hops) == sequences
    counts = list(hops.profile)
    assert counts[:width] == [sum(len(s) > k for s in sequences) for k in range(width)]
    assert not any(counts[width:])

    assert rows_of(hops.sequences) == sequences
    assert hops.seq_start.tolist() == hops.sequences.start.tolist()
    assert rows_of(hops.targets) == [s[:1] for s in sequences]
    assert rows_of(hops.rows) == [[s] for sequence in sequences for s in sequence]
    assert hops.row_node.tolist() == [v for v, sequence in enumerate(sequences) for _ in sequence]
    assert hops.row_hop.tolist() == [k for sequence in sequences for k in range(len(sequence))]
    assert hops.mask.tolist() == [[k < len(s) for k in range(width)] for s in sequences]
    assert rows_of(hops.grid) == [s[k : k + 1] for s in sequences for k in range(width)]
    for matrix in (hops.sequences, hops.targets, hops.rows, hops.grid, hops.packed.rows):
        assert matrix.num_columns == columns

    # Longest first, in the order of the nodes where equal; step t reads the t-th hop from the far end.
    order = sorted(range(len(sequences)), key=lambda v: -len(sequences[v]))
    steps = [[sequences[v][-1 - t] for v in order if len(sequences[v]) > t] for t in range(width)]
    assert rows_of(hops.packed.rows) == [[s] for step in steps for s in step]
    assert hops.packed.batch_sizes.tolist() == [len(step) for step in steps]
    assert [order[place] for place in hops.packed.place.tolist()] == list(range(len(sequences)))


def assert_right(members: list[HopData], hops: HopIndex) -> None:
    sets: list[list[int]] = []
    sequences: list[list[int]] = []
    full: list[list[int]] = []
    nodes = 0
    num_sets = sum(len(sets_of(data)) for data in members)
    for data in members:
        known = sets_of(data)
        place = {tuple(s): i + len(sets) for i, s in enumerate(known)}
        read = [[place[tuple(s)] for s in levels] for levels in hops_of(data)]
        sequences += read
        full += [s + [num_sets] * (data.hop_K.item() + 1 - len(s)) for s in read]
        sets += [[u + nodes for u in s] for s in known]
        nodes += data.num_nodes
    for index, expected in ((hops, sequences), (hops.with_empty_hops, full)):
        assert index.num_sets == num_sets
        assert index.set_size.tolist() == [len(s) for s in sets] + [0]
        assert rows_of(index.sets) == [*sets, []]
        assert index.sets.num_columns == nodes
        assert_forms_agree(index, expected)


@given(members=hop_batches())
def test_all_forms_say_the_same(members: list[HopData]) -> None:
    assert_right(members, HopIndex.of(Batch.from_data_list(members)))


@pytest.mark.parametrize("K", [0, 2, 7, None])
def test_all_forms_say_the_same_for_small_graphs(K: int | None) -> None:
    members = [*small_graphs(K), long_graph()]
    assert_right(members, index_of(*members))


@pytest.mark.parametrize("data", small_graphs())
def test_one_graph_needs_no_batch(data: HopData) -> None:
    assert_right([data], HopIndex.of(data))


def test_sequences_of_one_length_leave_no_holes() -> None:
    data = add_hops(from_networkx(cycle_graph(6)), None)
    hops = index_of(data, data)
    assert hops.mask.all()
    assert_right([data, data], hops)


def test_a_replaced_sequence_is_read_anew() -> None:
    """What was computed for one index does not leak into a changed copy."""
    hops = index_of(*small_graphs())
    assert_forms_agree(hops, sequences_of(hops))
    changed = replace(hops, seq_set=hops.seq_set.flip(0))
    assert_forms_agree(changed, sequences_of(changed))
    assert sequences_of(changed) != sequences_of(hops)


def test_sets_are_shared_with_the_index_that_has_empty_hops() -> None:
    hops = index_of(*small_graphs(5))
    assert hops.with_empty_hops.sets is hops.sets
    assert hops.with_empty_hops is hops.with_empty_hops


def test_a_graph_without_an_index_is_an_error_that_says_what_to_do() -> None:
    with pytest.raises(ValueError, match="add_hops"):
        HopIndex.of(graph(2, [(0, 1)]))


def test_shapes_are_known_without_the_device() -> None:
    """On a device without values, as long as nothing has to be copied from there, all forms can be built."""
    batch = Batch.from_data_list([*small_graphs(5), long_graph()])
    here, there = HopIndex.of(batch), HopIndex.of(batch.to("meta"))
    for a, b in ((here, there), (here.with_empty_hops, there.with_empty_hops)):
        assert a.width == b.width
        for name in ("sets", "sequences", "targets", "rows", "grid"):
            x = torch.empty(getattr(a, name).num_columns, 2)
            assert getattr(a, name).sum(x).shape == getattr(b, name).sum(x.to("meta")).shape
        assert a.packed.batch_sizes.tolist() == b.packed.batch_sizes.tolist()
        assert a.packed.place.shape == b.packed.place.shape
        assert a.mask.shape == b.mask.shape
