"""Batches that move to a device in one copy, and what models find in them."""

import pickle
from functools import partial

import pytest
import torch
from helpers.graphs import from_networkx, hop_batches
from hypothesis import given, settings
from hypothesis import strategies as st
from networkx import path_graph
from torch import nn
from torch_geometric.data import Batch, Data

from gredkit import GRED, GraphSpec, HopIndex, add_hops, without_kernels
from gredkit.bench import graphs
from gredkit.bench.launches import counted
from gredkit.nn.kernels.call import CALLED
from gredkit.nn.prepared import KEY, once, to_prepare
from gredkit.training.evaluation import CPU, predict_all
from gredkit.training.moving import moved, pack

SPEC = GraphSpec(nodes=(graphs.ATOMS,), outputs=2, edges=(graphs.BONDS,))


def molecules(count=4, K=4):
    return Batch.from_data_list([add_hops(graph, K) for graph in graphs.zinc(count)])


def built(**options):
    torch.manual_seed(0)
    return GRED(SPEC, dim=6, layers=2, edge_features="categorical", **options).double()


def trained(model, batch):
    """The outputs and all gradients of a training step."""
    torch.manual_seed(1)
    with without_kernels():
        outputs = model.train()(batch)
        return [outputs.detach(), *torch.autograd.grad(outputs.square().sum(), list(model.parameters()))]


def assert_same(found, expected):
    for a, b in zip(found, expected, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-9, atol=1e-10)


def test_every_tensor_arrives_as_it_was():
    several = [
        Data(x=torch.rand(3, 2), flag=torch.tensor([True]), number=torch.tensor(7, dtype=torch.int16), name="a"),
        Data(x=torch.rand(2, 2), flag=torch.tensor([False]), number=torch.tensor(9, dtype=torch.int16), name="b"),
    ]
    batch = Batch.from_data_list(several)
    batch.nothing, batch.complex = torch.empty(0, 4), torch.rand(3, 2, dtype=torch.complex128).mT
    batch.inside = {"y": torch.ones(2)}
    before = {name: value.clone() for name, value in batch.to_dict().items() if isinstance(value, torch.Tensor)}
    there = pack(batch).to(CPU, copies=True)
    assert set(there.to_dict()) == {*batch.to_dict(), KEY}
    assert KEY not in batch
    assert (there.num_graphs, there.name) == (2, ["a", "b"])
    for name, value in before.items():
        assert there[name].dtype == value.dtype
        assert torch.equal(there[name], value)
        assert there[name].data_ptr() != batch[name].data_ptr() or not value.numel()


def test_it_is_one_copy():
    batch, model = molecules(), built()
    parcel = pack(batch, model)
    with counted() as counts:
        there = parcel.to(CPU, copies=True)
    assert counts == {"_to_copy": 1}
    with counted() as counts:
        model(there).sum().backward()
    whole_numbers = {"arange", "cumsum", "sort", "searchsorted", "repeat_interleave", "index", "index_put_", "new_full"}
    assert not whole_numbers & set(counts)
    assert set(vars(there[KEY]["hops"][1])) & {"with_empty_hops"}


@pytest.mark.parametrize("direction", ["far_to_near", "near_to_far"])
@pytest.mark.parametrize("empty_hops", ["constant", "zero"])
@pytest.mark.parametrize("K", [0, 4, None])
def test_a_model_computes_the_same(K, empty_hops, direction):
    batch = molecules(K=K)
    model = built(empty_hops=empty_hops, direction=direction, dropout=0.3, readout="mean")
    assert_same(trained(model, pack(batch, model).to(CPU)), trained(model, batch))


OPTIONS = st.fixed_dictionaries(
    {
        "glu": st.sampled_from(["full", "half"]),
        "empty_hops": st.sampled_from(["constant", "zero"]),
        "direction": st.sampled_from(["far_to_near", "near_to_far"]),
    }
)


@given(members=hop_batches(), options=OPTIONS)
@settings(max_examples=40)
def test_a_model_computes_the_same_over_any_batch(members, options):
    """Graphs without nodes, without edges, and with a K of their own are among them."""
    batch = Batch.from_data_list(members)
    if not batch.num_nodes:
        return
    batch.x = torch.arange(batch.num_nodes) % 3
    torch.manual_seed(0)
    model = GRED(GraphSpec(nodes=(3,), outputs=2), dim=5, layers=2, **options).double()
    assert_same(trained(model, pack(batch, model).to(CPU)), trained(model, batch))


@pytest.mark.parametrize("encoder", ["gru", "attention", "weighted_sum"])
@pytest.mark.parametrize("sequence", ["hops", "hops_with_edges", "powers"])
def test_other_encoders_and_sequences_compute_the_same(encoder, sequence):
    model = built(encoder=encoder, sequence=sequence)
    prepared = []
    for graph in graphs.zinc(3):
        for structure in model.needs(3):
            graph = structure.add_to(graph)
        prepared.append(graph)
    batch = Batch.from_data_list(prepared)
    assert_same(trained(model, pack(batch, model).to(CPU)), trained(model, batch))


def test_a_single_graph():
    model = GRED(GraphSpec(nodes=(3,), outputs=1), dim=4, layers=2).double()
    graph = add_hops(from_networkx(path_graph(4)), 2)
    graph.x = torch.tensor([0, 1, 2, 1])
    assert_same(trained(model, pack(graph, model).to(CPU)), trained(model, graph))


def test_no_step_waits_for_the_device():
    """On the meta device shapes are known and values are not, so that asking for a value is an error."""
    batch = molecules()
    for K in ("constant", "zero"):
        model = built(empty_hops=K, dropout=0.1).train()
        there = moved(batch, torch.device("meta"), model)
        assert there.x.is_meta
        model.to("meta")(there).sum().backward()


@pytest.mark.needs("compiler")
def test_a_cpu_gets_the_batch_as_it_is_and_kernels_run():
    batch, model = molecules(), built().float()
    there = moved(batch, CPU, model)
    assert KEY not in there
    assert there.x is batch.x
    CALLED.clear()
    predict_all(model, [add_hops(graph, 4) for graph in graphs.zinc(3)])
    assert "layers_forward" in CALLED


def test_a_compiled_model_computes_everything_itself():
    model = built()
    compiled = torch.compile(model, backend="eager")
    assert moved(molecules(), torch.device("meta"), compiled)[KEY] == {}
    assert "hops" in moved(molecules(), torch.device("meta"), model)[KEY]
    assert moved(molecules(), torch.device("meta"), nn.Identity())[KEY] == {}


def test_what_is_remembered_belongs_to_its_tensors():
    batch = to_prepare(Data(x=torch.ones(3)))
    first = once(batch, "sum", (batch.x,), lambda: batch.x.sum())
    assert once(batch, "sum", (batch.x,), lambda: batch.x.sum()) is first
    batch.x = torch.zeros(3)
    assert once(batch, "sum", (batch.x,), lambda: batch.x.sum()) == 0
    plain = Data(x=torch.ones(3))
    make = partial(torch.sum, plain.x)
    assert once(plain, "sum", (plain.x,), make) is not once(plain, "sum", (plain.x,), make)


def test_another_index_in_a_moved_batch_is_read():
    """As somebody may replace sets in a model of their own."""
    batch, model = molecules(), built().eval()
    there = pack(batch, model).to(CPU)
    there.hop_seq_set, batch.hop_seq_set = there.hop_seq_set.flip(0), batch.hop_seq_set.flip(0)
    assert torch.equal(HopIndex.of(there).seq_set, HopIndex.of(batch).seq_set)
    assert torch.equal(model(there), model(batch))


def test_an_index_can_be_copied_with_its_forms():
    hops = HopIndex.of(molecules()).with_empty_hops
    assert hops.sets.transposed is hops.sets.transposed
    again = pickle.loads(pickle.dumps(hops))
    assert "sums" not in vars(again.sets)
    assert torch.equal(again.sets.transposed.columns, hops.sets.transposed.columns)
    assert torch.equal(again.row_node, hops.row_node)
