"""A model with kernels is the model without them."""

from functools import partial
from itertools import pairwise

import pytest
import torch
from bench.test_oracle import outputs_and_gradients
from torch import Tensor
from torch.nn.modules.module import register_module_forward_hook
from torch_geometric.data import Batch, Data

from gredkit import GRED, GraphSpec, add_hops
from gredkit.bench import graphs
from gredkit.nn.aggregators.sum import SumAggregator
from gredkit.nn.encoders.lru import LRU
from gredkit.nn.hop_index import HopIndex
from gredkit.nn.kernels import ops
from gredkit.nn.kernels.call import CALLED
from gredkit.nn.kernels.usable import without_kernels
from gredkit.nn.segments import installed_backends
from gredkit.registry import AGGREGATORS, ENCODERS

pytestmark = pytest.mark.needs("compiler")

SPEC = GraphSpec(nodes=(graphs.ATOMS,), outputs=2, edges=(graphs.BONDS,))


def batch_of(K, nodes=20, count=6):
    return Batch.from_data_list([add_hops(graph, K) for graph in graphs.molecules(nodes, count)])


def built(**settings):
    torch.manual_seed(0)
    model = GRED(SPEC, **{"dim": 20, "layers": 3, "edge_features": "categorical", **settings})
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += 0.1 * torch.randn_like(parameter)
    return model


SETTINGS = [
    {"encoder": partial(LRU, state_dim=12, mode="auto")},
    {"encoder": partial(LRU, mode="kernel"), "gelu": "tanh", "glu": "half", "expand": 2},
    {"encoder": partial(LRU, state_dim=4), "empty_hops": "zero", "aggregator": "mean"},
    *({"encoder": name} for name in ENCODERS if name != "lru"),
]


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
@pytest.mark.parametrize("K", [0, 3, 30, None])
def test_same_outputs_and_gradients(settings, K):
    batch, model = batch_of(K), built(**settings)
    with_them = outputs_and_gradients(model, batch)
    with without_kernels():
        plain = outputs_and_gradients(model, batch)
    assert torch.allclose(with_them[0], plain[0], rtol=1e-4, atol=1e-4)
    for name, gradient in plain[1].items():
        scale = max(gradient.abs().max().item(), 0.1)  # some are zero but for rounding
        assert (with_them[1][name] - gradient).abs().max() <= 1e-4 * scale, name


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_the_same_without_gradients(settings):
    batch, model = batch_of(3), built(**settings, dropout=0.3).eval()
    out = model(batch)
    with torch.no_grad():
        assert torch.allclose(model(batch), out, rtol=1e-5, atol=1e-5)  # PyTorch runs its LSTM another way


def test_auto_takes_the_recurrence_where_sets_are_shared_and_the_matrices_elsewhere(monkeypatch):
    used = []

    def watched(name, function):
        def call(*arguments):
            used.append(name)
            return function(*arguments)

        return call

    for name in ("layers", "hop_scan", "hop_filter"):
        monkeypatch.setattr(ops, name, watched(name, getattr(ops, name)))
    layer = built(layers=1).layers[0]
    chain = Batch.from_data_list([add_hops(graph, 40) for graph in graphs.peptides(2)])
    for batch in (chain, batch_of(2)):
        hops = HopIndex.of(batch)
        layer(torch.randn(hops.num_nodes, 20), hops)
        layer.encoder(torch.randn(hops.num_sets + 1, 20), hops.with_empty_hops)
    assert used == ["hop_scan", "hop_scan", "layers", "hop_filter"]


@pytest.mark.parametrize(("dtype", "precision"), [(torch.float64, None), (torch.float32, torch.bfloat16)])
def test_other_precisions_do_without(dtype, precision):
    CALLED.clear()
    model = built().to(dtype)
    with torch.autocast("cpu", precision, enabled=precision is not None):
        out = model(batch_of(3))
    out.sum().backward()
    assert out.isfinite().all()
    assert {"check_rows", "transpose"} == CALLED  # of whole numbers


def test_a_part_of_the_wrong_shape_is_an_error_and_reads_no_foreign_memory():
    class TooShort(torch.nn.Module):
        def __init__(self, dim):
            super().__init__()

        def forward(self, h, hops):
            return h[:3]

    with pytest.raises((IndexError, RuntimeError)):
        built(aggregator=TooShort)(batch_of(3))
    with pytest.raises((IndexError, RuntimeError)):
        built(encoder=TooShort)(batch_of(3))


def test_an_encoder_of_another_width_type_or_making_is_not_taken_for_the_lru():
    class Refusing(LRU):
        def forward(self, z, hops):
            raise RuntimeError("this is another encoder")

    batch = batch_of(3)
    with pytest.raises(RuntimeError):
        built(encoder=lambda dim: LRU(8))(batch)
    with pytest.raises(RuntimeError, match="this is another encoder"):
        built(encoder=Refusing)(batch)
    double = built(layers=1)
    expected = double(batch)
    double.layers[0].encoder.double()
    assert torch.allclose(double(batch), expected, rtol=1e-4, atol=1e-4)


PARTS = ["", "aggregator", "encoder", "mlp", "mlp.up", "norm", "gelu", "glu", "glu.gate", "dropout"]
IN_ENCODERS = [("rnn", "encoder.rnn"), ("lstm", "encoder.out"), ("attention", "encoder.query")]


@pytest.mark.parametrize(("encoder", "part"), [*(("lru", part) for part in PARTS), *IN_ENCODERS])
@pytest.mark.parametrize("layers", [1, 3])
def test_hooks_are_called(encoder, part, layers):
    model, batch, seen = built(layers=layers, encoder=encoder), batch_of(3), []
    expected = model(batch)
    part = model.layers[layers // 2].get_submodule(part)
    part.register_forward_hook(lambda *called: seen.append(called[2]))
    assert torch.allclose(model(batch), expected, rtol=1e-4, atol=1e-4)
    assert seen


@pytest.mark.parametrize("part", PARTS)
def test_what_is_put_in_place_of_a_forward_is_called(part):
    model, seen = built(), []
    module = model.layers[1].get_submodule(part)
    forward = module.forward

    def noted(*inputs):
        seen.append(inputs)
        return forward(*inputs)

    module.forward = noted
    model(batch_of(3))
    assert seen


def test_hooks_on_all_modules_are_called():
    model, seen = built(), set()
    handle = register_module_forward_hook(lambda module, *_: seen.add(module))
    try:
        model(batch_of(3))
    finally:
        handle.remove()
    assert seen >= set(model.layers.modules()) - {model.layers}


def test_layers_that_share_weights_frozen_ones_and_a_second_backward_pass():
    batch = batch_of(3)
    model = built()
    model.layers[2] = model.layers[0]
    model.layers[1].mlp.requires_grad_(False)
    parameters = [p for p in model.parameters() if p.requires_grad]

    def gradients():
        out = model(batch).square().sum()
        first = torch.autograd.grad(out, parameters, retain_graph=True)
        return [*first, *torch.autograd.grad(out, parameters)]

    with_them = gradients()
    with without_kernels():
        without = gradients()
    for ours, theirs in zip(with_them, without, strict=True):
        assert (ours - theirs).abs().max() <= 1e-4 * max(theirs.abs().max().item(), 0.1)


def test_layers_run_at_once_only_if_they_are_of_one_kind(monkeypatch):
    calls, together = [], ops.layers

    def counted(x, index, sets, encoder, weights, *form):
        calls.append((sets is not None, len(weights)))
        return together(x, index, sets, encoder, weights, *form)

    monkeypatch.setattr(ops, "layers", counted)
    changes = {
        "none": lambda layers: None,
        "dropout": lambda layers: setattr(layers[1].dropout, "p", 0.5),
        "empty hops": lambda layers: setattr(layers[1], "empty_hops", "zero"),
        "a wider state": lambda layers: setattr(layers[1], "encoder", LRU(20, state_dim=30)),
        "another encoder": lambda layers: setattr(layers[1], "encoder", ENCODERS["rnn"](20)),
        "another aggregator": lambda layers: setattr(layers[1], "aggregator", AGGREGATORS["mean"](20)),
        "evaluated": lambda layers: layers[1].eval(),
    }
    found = {}
    for name, change in changes.items():
        model = built(dropout=0.2)
        change(model.layers)
        calls.clear()
        model(batch_of(3))
        found[name] = list(calls)
    alone = [(False, 1)] * 3
    assert found == {**dict.fromkeys(changes, alone), "none": [(True, 3)]}


@pytest.mark.parametrize("direction", ["far_to_near", "near_to_far"])
@pytest.mark.parametrize("name", ["rnn", "lstm", "gru", "attention"])
def test_layers_with_other_encoders_run_at_once_in_the_direction_that_they_have(monkeypatch, name, direction):
    if name == "attention" and direction == "near_to_far":
        pytest.skip("attention has no direction")
    model, batch, calls, together = built(encoder=name, direction=direction), batch_of(3), [], ops.layers

    def counted(x, index, sets, encoder, weights, *form):
        calls.append((encoder.kind.lower(), len(weights)))
        return together(x, index, sets, encoder, weights, *form)

    monkeypatch.setattr(ops, "layers", counted)
    found = outputs_and_gradients(model, batch)
    assert calls == [(name, 3)]
    with without_kernels():
        plain = outputs_and_gradients(model, batch)
    assert torch.allclose(found[0], plain[0], rtol=1e-4, atol=1e-4)
    for parameter, gradient in plain[1].items():
        scale = max(gradient.abs().max().item(), 0.1)
        assert (found[1][parameter] - gradient).abs().max() <= 1e-4 * scale, parameter


def test_a_network_that_would_read_other_weights_than_it_lists_is_called_itself():
    model, batch = built(encoder="rnn"), batch_of(3)
    network = model.layers[1].encoder.rnn
    network._flat_weights = [weight.detach().clone() for weight in network._flat_weights]
    with torch.no_grad():
        network.weight_hh_l0.zero_()  # which PyTorch does not read
        with without_kernels():
            expected = model(batch)
        torch.testing.assert_close(model(batch), expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("backend", [*installed_backends(), "auto"])
def test_sums_are_fused_with_the_layers_unless_torch_scatter_is_chosen(monkeypatch, backend):
    calls, together = [], ops.layers

    def counted(x, index, sets, encoder, weights, *form):
        calls.append((sets is not None, len(weights)))
        return together(x, index, sets, encoder, weights, *form)

    monkeypatch.setattr(ops, "layers", counted)
    batch = batch_of(3)
    found = built(aggregator=partial(SumAggregator, backend=backend))(batch)
    assert calls == ([(False, 1)] * 3 if backend == "torch_scatter" else [(True, 3)])
    torch.testing.assert_close(found, built()(batch), rtol=1e-4, atol=1e-4)


def test_nothing_is_dropped_in_evaluation():
    model, batch = built(dropout=0.5), batch_of(3)
    model.eval()
    assert torch.equal(model(batch), model(batch))
    model.train()
    assert not torch.equal(model(batch), model(batch))


def test_parts_of_a_batch_share_no_set():
    for batch in (batch_of(3, 20, 40), batch_of(None, 150, 3)):
        hops = HopIndex.of(batch)
        for index in (hops, hops.with_empty_hops):
            cuts = index.index.cuts.tolist()
            seen: set[int] = set()
            assert cuts[0] == 0
            assert cuts[-1] == hops.num_nodes
            assert len(cuts) > 3
            for begin, end in pairwise(cuts):
                here = set(index.seq_set[index.seq_start[begin] : index.seq_start[end]].tolist()) - {hops.num_sets}
                assert not seen & here
                seen |= here
            of_set = {int(index.seq_set[begin]): v for v, begin in enumerate(index.seq_start[:-1])}
            assert index.index.targets.tolist() == list(of_set)
            assert index.index.node.tolist() == [of_set.get(s, -1) for s in range(hops.num_sets + 1)]


@pytest.mark.parametrize("change", [Tensor.int, lambda x: x.t().contiguous().t()], ids=["int32", "in another order"])
def test_whole_numbers_of_another_kind_or_order(change):
    (graph,) = graphs.molecules(20, 1)
    model = built()
    as_usual = Data(**graph.to_dict())
    graph.x, graph.edge_index = change(torch.cat([graph.x, graph.x], 1))[:, :1], change(graph.edge_index)
    both = [outputs_and_gradients(model, add_hops(one, 3)) for one in (as_usual, graph)]
    assert torch.equal(both[0][0], both[1][0])
    for name, gradient in both[0][1].items():
        assert torch.equal(gradient, both[1][1][name]), name
