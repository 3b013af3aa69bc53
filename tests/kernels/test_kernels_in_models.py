"""A model with kernels is the model without them."""

from functools import partial
from itertools import pairwise

import pytest
import torch
from bench.test_oracle import outputs_and_gradients
from torch_geometric.data import Batch

from gredkit import GRED, GraphSpec, add_hops
from gredkit.bench import graphs
from gredkit.kernels import ops, steps
from gredkit.nn.encoders.lru import LRU
from gredkit.nn.hop_index import HopIndex
from gredkit.registry import ENCODERS

SPEC = GraphSpec(nodes=(graphs.ATOMS,), outputs=2, edges=(graphs.BONDS,))


@pytest.fixture
def without_kernels(monkeypatch):
    """A function that switches them off."""
    return lambda: monkeypatch.setattr(ops, "library", lambda: None)


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
def test_same_outputs_and_gradients(settings, K, without_kernels):
    batch, model = batch_of(K), built(**settings)
    with_them = outputs_and_gradients(model, batch)
    without_kernels()
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

    monkeypatch.setattr(ops, "layer", watched("layer", ops.layer))
    for name in ("hop_scan", "hop_filter"):
        monkeypatch.setattr(f"gredkit.nn.encoders.lru.{name}", watched(name, getattr(ops, name)))
    layer = built(layers=1).layers[0]
    chain = Batch.from_data_list([add_hops(graph, 40) for graph in graphs.peptides(2)])
    for batch in (chain, batch_of(2)):
        hops = HopIndex.of(batch)
        layer(torch.randn(hops.num_nodes, 20), hops)
        layer.encoder(torch.randn(hops.num_sets + 1, 20), hops.with_empty_hops)
    assert used == ["hop_scan", "hop_scan", "layer", "hop_filter"]


@pytest.mark.parametrize(("dtype", "precision"), [(torch.float64, None), (torch.float32, torch.bfloat16)])
def test_other_precisions_do_without(dtype, precision, monkeypatch):
    monkeypatch.setattr(steps, "_call", lambda *arguments: pytest.fail("a kernel was called"))
    model = built().to(dtype)
    with torch.autocast("cpu", precision, enabled=precision is not None):
        assert model(batch_of(3)).isfinite().all()


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


@pytest.mark.parametrize("part", ["encoder", "mlp", "norm", "glu", "dropout"])
def test_hooks_are_called(part):
    model, batch, seen = built(layers=1), batch_of(3), []
    expected = model(batch)
    model.layers[0].get_submodule(part).register_forward_hook(lambda *called: seen.append(called[2].shape))
    assert torch.allclose(model(batch), expected, rtol=1e-4, atol=1e-4)
    assert seen


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
            cuts = index.cuts.tolist()
            seen: set[int] = set()
            assert cuts[0] == 0
            assert cuts[-1] == hops.num_nodes
            assert len(cuts) > 3
            for begin, end in pairwise(cuts):
                here = set(index.seq_set[index.seq_start[begin] : index.seq_start[end]].tolist()) - {hops.num_sets}
                assert not seen & here
                seen |= here
