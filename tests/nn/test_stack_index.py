"""The forms that stacked layers read: sets that nodes share, and a set for each place of a sequence."""

from dataclasses import replace

import pytest
import torch
from helpers.graphs import hop_batches, sequences_of, split
from hypothesis import given, settings
from hypothesis import strategies as st
from nn.test_stacked import LAYERS, SEVERAL_K, built, differences, one_by_one, with_gradients
from torch_geometric.data import Batch

from gredkit import HopIndex, add_hops, without_kernels
from gredkit.bench import graphs
from gredkit.nn.layer import through
from gredkit.nn.stack_index import StackIndex


def rows_of(matrix):
    return split(matrix.columns.tolist(), matrix.start.diff().tolist())


def are_alike(hops):
    """Whether all sequences have the same length."""
    return hops.seq_set.numel() == hops.num_nodes * hops.width


def with_index(hops, options, make):
    """The same hops, whose sequences carry the index that `make` gives."""
    hops = replace(hops)
    layer = built(options, 1)[0]
    sequences = layer.sequences(hops)
    sequences.__dict__["stack"] = make(sequences)
    return hops


@given(members=hop_batches(), turned=st.booleans())
def test_the_forms_say_what_the_sequences_say(members, turned):
    hops = HopIndex.of(Batch.from_data_list(members)).with_empty_hops
    hops = hops.near_to_far if turned else hops
    nodes, indices = hops.num_nodes, [StackIndex.of(hops)]
    assert indices[0].targets.columns.tolist() == [sequence[-1 if turned else 0] for sequence in sequences_of(hops)]
    if are_alike(hops):
        indices.append(StackIndex.apart(hops))
        sets = rows_of(hops.sets)
        assert rows_of(indices[1].sets) == [sets[s] for sequence in sequences_of(hops) for s in sequence]
        assert indices[1].grid is None
    for index in indices:
        sets, count, target = rows_of(index.sets), index.sets.num_rows, index.targets.columns.tolist()
        assert [sets[row] for row in target] == [[v] for v in range(nodes)]
        assert rows_of(index.written) == [[target[v], count + v] for v in range(nodes)]
        assert rows_of(index.sums) == [[row for v in one for row in (target[v], count + v)] for one in sets]
        assert index.sums.num_columns == index.written.num_columns == count + nodes
        assert index.places.flatten().tolist() == [k for place in range(hops.width) for k in (-place, place)]
        assert index.signs.tolist() == [[1, 1], [1, -1]]


@given(members=hop_batches(), options=LAYERS, depth=st.integers(1, 3))
@settings(max_examples=40)
def test_layers_give_the_same_with_either_index(members, options, depth):
    hops = HopIndex.of(Batch.from_data_list(members))
    if not hops.num_nodes:
        return
    layers = built(options, depth)
    expected = with_gradients(one_by_one, layers, hops)
    ways = [StackIndex.of, StackIndex.ahead]
    if are_alike(built(options, 1)[0].sequences(hops)):
        ways.append(StackIndex.apart)
    for make in ways:
        found = with_gradients(through, layers, with_index(hops, options, make))
        assert max(differences(found, expected)) < 1e-9


@pytest.mark.parametrize(("make", "K", "is_apart"), [(graphs.zinc, 4, True), (graphs.peptides, 40, False)])
def test_places_have_sets_of_their_own_where_few_are_shared(make, K, is_apart):
    hops = HopIndex.of(Batch.from_data_list([add_hops(graph, K) for graph in make(2)]))
    index = StackIndex.ahead(hops.with_empty_hops)
    assert (index.grid is None) == is_apart
    assert is_apart or index.sets is hops.sets


def test_places_of_shorter_sequences_have_no_sets_of_their_own():
    hops = SEVERAL_K.with_empty_hops
    assert not are_alike(hops)
    assert StackIndex.ahead(hops).grid is not None


def test_a_second_derivative_with_sets_of_their_own():
    hops = HopIndex.of(Batch.from_data_list([add_hops(graph, 3) for graph in graphs.zinc(2)]))
    layers = built({})
    h = torch.randn(hops.num_nodes, 6).double().requires_grad_()
    found = []
    with without_kernels():
        for one in (with_index(hops, {}, StackIndex.apart), hops):
            (slope,) = torch.autograd.grad(through(layers, h, one).cos().sum(), h, create_graph=True)
            found.append(torch.autograd.grad(slope.square().sum(), [h, *layers.parameters()], allow_unused=True))
    assert all(a is b is None or torch.allclose(a, b) for a, b in zip(*found, strict=True))
