"""All layers by few operations: the same function as the modules, one after the other."""

from functools import partial
from itertools import cycle

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch_geometric.data import Batch

from gredkit import GRED, GraphSpec, GREDLayer, HopIndex, add_hops, without_kernels
from gredkit.bench import graphs
from gredkit.bench.launches import counted
from gredkit.nn import stacked
from gredkit.nn.encoders.lru import LRU
from gredkit.nn.kernels.call import CALLED
from gredkit.nn.layer import through
from gredkit.nn.stacked_weights import DROPPED, Gates, Stacks, Weights

DIM = 6
HOPS = HopIndex.of(Batch.from_data_list([add_hops(graph, 5) for graph in graphs.molecules(9, 3)]))
SEVERAL_K = HopIndex.of(Batch.from_data_list([add_hops(graph, K) for K, graph in enumerate(graphs.molecules(9, 4), 1)]))
ENCODERS = st.builds(
    lambda **options: partial(LRU, **options),
    state_dim=st.sampled_from([None, 1, 5]),
    eigenvalues=st.sampled_from(["complex", "real"]),
    learned=st.booleans(),
    shared=st.booleans(),
    gamma=st.booleans(),
    mode=st.sampled_from(["auto", "kernel"]),
)
LAYERS = st.fixed_dictionaries(
    {
        "encoder": ENCODERS,
        "expand": st.integers(1, 2),
        "glu": st.sampled_from(["full", "half"]),
        "gelu": st.sampled_from(["erf", "tanh"]),
        "empty_hops": st.sampled_from(["constant", "zero"]),
        "direction": st.sampled_from(["far_to_near", "near_to_far"]),
    }
)


def built(options, depth=2, dtype=torch.float64):
    """Layers with weights that are neither zero nor one."""
    torch.manual_seed(0)
    layers = nn.ModuleList(GREDLayer(DIM, **options) for _ in range(depth))
    with torch.no_grad():
        for parameter in layers.parameters():
            parameter += 0.1 * torch.randn_like(parameter)
    return layers.to(dtype)


def one_by_one(layers, h, hops):
    for layer in layers:
        h = layer(h, hops)
    return h


def with_gradients(way, layers, hops, dtype=torch.float64):
    """What a way through the layers gives, and all gradients."""
    torch.manual_seed(1)
    h, into = (torch.randn(hops.num_nodes, DIM).to(dtype) for _ in range(2))
    inputs = [h.requires_grad_(), *(one for one in layers.parameters() if one.requires_grad)]
    out = way(layers, h, hops)
    return [out, *torch.autograd.grad((out * into).sum(), inputs)]


def is_stacked(out):
    return out.grad_fn.name() == "_StackedBackward"


def differences(found, expected):
    """Of each tensor, as a share of its largest number."""
    assert [one.shape for one in found] == [one.shape for one in expected]
    return [(a - b).abs().max().item() / max(b.abs().max().item(), 1e-9) for a, b in zip(found, expected, strict=True)]


@given(LAYERS, st.integers(1, 3), st.sampled_from([HOPS, SEVERAL_K]), st.sampled_from([0, 2**25]))
@settings(max_examples=60)
def test_it_is_the_function_of_the_modules(options, depth, hops, most_at_once):
    layers = built(options, depth)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stacked, "MOST_AT_ONCE", most_at_once)
        found = with_gradients(through, layers, hops)
    assert is_stacked(found[0])
    assert max(differences(found, with_gradients(one_by_one, layers, hops))) < 1e-9
    with torch.no_grad():
        torch.manual_seed(1)
        assert torch.allclose(through(layers, torch.randn(hops.num_nodes, DIM).double(), hops), found[0])


@given(LAYERS)
@settings(max_examples=20)
def test_rounding_is_as_large_as_that_of_the_modules(options):
    exact = with_gradients(one_by_one, built(options), HOPS)
    layers = built(options, dtype=torch.float32)
    with without_kernels():
        found, plain = (with_gradients(way, layers, HOPS, torch.float32) for way in (through, one_by_one))
    assert is_stacked(found[0])
    assert max(differences(found, exact)) < 10 * max(differences(plain, exact)) + 1e-6


class Masks(nn.Module):
    """Multiplies by masks in turn."""

    def __init__(self, masks):
        super().__init__()
        self.masks = cycle(masks)

    def forward(self, x):
        return x * next(self.masks)


def second_derivatives(way, layers, h):
    """Of h and all weights."""
    inputs = [h, *layers.parameters()]
    slopes = torch.autograd.grad(way(layers, h, HOPS).sum(), inputs, create_graph=True)
    return torch.autograd.grad(sum(one.square().sum() for one in slopes), inputs)


@pytest.mark.parametrize("glu", ["full", "half"])
def test_dropout_is_that_of_the_modules_with_the_same_masks(glu, monkeypatch):
    share, depth = 0.3, 2
    layers = built({"glu": glu, "dropout": share}, depth).train()
    drawn = []
    of = Gates.of

    def remember(*arguments):
        drawn.append(of(*arguments))
        return drawn[-1]

    monkeypatch.setattr(Gates, "of", remember)
    found = with_gradients(through, layers, HOPS)
    assert is_stacked(found[0])
    torch.manual_seed(1)
    h = torch.randn(HOPS.num_nodes, DIM).double().requires_grad_()
    torch.manual_seed(2)
    twice = second_derivatives(through, layers, h)
    for gates, expected, way in zip(
        drawn, (found, twice), (lambda: with_gradients(one_by_one, layers, HOPS), None), strict=True
    ):
        first, last = gates.added[..., :DIM], gates.added[..., -DIM:]
        for layer, *own in zip(layers, first, last, strict=True):
            layer.dropout = Masks([(one > DROPPED / 2).double() * gates.left for one in own])
        theirs = way() if way else second_derivatives(one_by_one, layers, h)
        assert max(differences(expected, theirs)) < 1e-9
        assert gates.left == pytest.approx(1 / (1 - share), rel=1e-4)


def test_a_second_derivative_is_that_of_the_forward_pass():
    """Whatever was done to the layers since."""
    layers = built({"dropout": 0.4}).eval()
    h = torch.randn(HOPS.num_nodes, DIM).double().requires_grad_()
    (expected,) = torch.autograd.grad(through(layers, h, HOPS).sum(), h)
    out = through(layers, h, HOPS).sum()
    layers.train()
    layers[0].mlp.up.weight = nn.Parameter(torch.zeros_like(layers[0].mlp.up.weight))
    (found,) = torch.autograd.grad(out, h, create_graph=True)
    assert torch.allclose(found, expected)


@pytest.mark.parametrize("share", [0.05, 0.5, 0.9])
def test_what_share_is_dropped(share):
    torch.manual_seed(0)
    layers = built({"dropout": share}, 3)
    weights = Weights.each([one for layer in layers for one in _weights(layer)], 3)
    with torch.no_grad():
        stacks = Stacks.of(weights)
        added = Gates.of(stacks.gate, stacks.gate_bias, share, 2000).added
    for part in (added[..., :DIM], added[..., -DIM:]):
        dropped = (part < DROPPED / 2).double().mean().item()
        assert dropped == pytest.approx(share, abs=4 * (share * (1 - share) / part.numel()) ** 0.5)
    assert (added[..., DIM : 2 * DIM] > DROPPED / 2).all()  # the value of the gate is not masked
    assert not torch.equal(added[0, :, :DIM], added[1, :, :DIM])


def _weights(layer):
    from gredkit.nn.kernels import known

    found = known.read((known.LAYER, layer), is_fit=lambda one: True, d=DIM)
    assert found is not None
    return found.weights[0]


def test_the_same_seed_drops_the_same():
    layers = built({"dropout": 0.4}).train()
    first, second = (with_gradients(through, layers, HOPS) for _ in range(2))
    assert all(torch.equal(a, b) for a, b in zip(first, second, strict=True))


def test_layers_that_are_one_and_the_same():
    (layer,) = built({}, 1)
    layers = nn.ModuleList([layer] * 3)
    found = with_gradients(through, layers, HOPS)
    assert is_stacked(found[0])
    assert max(differences(found, with_gradients(one_by_one, layers, HOPS))) < 1e-9
    h = torch.randn(HOPS.num_nodes, DIM).double().requires_grad_()
    assert max(differences(*(second_derivatives(way, layers, h) for way in (through, one_by_one)))) < 1e-9
    with torch.autograd.graph.save_on_cpu():  # which copies
        assert max(differences(*(second_derivatives(way, layers, h) for way in (through, one_by_one)))) < 1e-9


@pytest.mark.parametrize("what", ["h", "every second weight", "everything"])
def test_what_is_frozen_has_no_gradient_and_the_rest_has_its_own(what):
    layers = built({})
    for number, parameter in enumerate(layers.parameters()):
        parameter.requires_grad_(what == "h" or (what == "every second weight" and number % 2 == 0))
    h = torch.randn(HOPS.num_nodes, DIM).double().requires_grad_(what == "every second weight")
    wanted = [one for one in (h, *layers.parameters()) if one.requires_grad]
    outs = [way(layers, h, HOPS) for way in (through, one_by_one)]
    assert torch.allclose(*outs)
    assert [one.requires_grad for one in outs] == [what != "everything"] * 2
    if wanted:
        found, expected = (torch.autograd.grad(out.cos().sum(), wanted) for out in outs)
        assert max(differences(found, expected)) < 1e-9


@pytest.mark.needs("compiler")
def test_kernels_come_first_where_they_run():
    """Also if nodes share most of their sets, where kernels go layer by layer."""
    shared = HopIndex.of(Batch.from_data_list([add_hops(graph, 30) for graph in graphs.peptides(1)]))
    layers = built({"encoder": partial(LRU, state_dim=1)}, dtype=torch.float32)
    CALLED.clear()
    out = through(layers, torch.randn(shared.num_nodes, DIM), shared)
    assert not is_stacked(out)
    assert {"hop_scan_forward", "set_mlp_forward", "gate_forward"} <= set(CALLED)


@pytest.mark.parametrize("change", ["hook", "norm", "mode", "half precision", "autocast"])
def test_other_layers_are_called_as_modules(change):
    layers = built({})
    if change == "hook":
        layers[1].mlp.register_forward_hook(lambda *_: None)
    elif change == "norm":
        layers = built({"norm": False})
    elif change == "mode":
        layers = built({"encoder": partial(LRU, mode="scan")})
    elif change == "half precision":
        layers = layers.bfloat16()
    h = torch.randn(HOPS.num_nodes, DIM).to(next(layers.parameters()).dtype)
    if change == "autocast":
        layers, h = layers.float(), h.float()
    with without_kernels(), torch.autocast("cpu", enabled=change == "autocast"):
        out = through(layers, h.requires_grad_(), HOPS)
        assert torch.equal(out, one_by_one(layers, h, HOPS))
    assert not is_stacked(out)


def test_a_layer_takes_25_operations():
    """As few as can be without kernels of one's own: on a GPU the number of launches is the time of a step."""
    spec = GraphSpec(nodes=(graphs.ATOMS,), outputs=1)
    batch = Batch.from_data_list([add_hops(graph, 4) for graph in graphs.zinc(3)])
    totals = []
    for depth in (3, 4):
        model = GRED(spec, 8, depth, dropout=0.2)
        with counted() as counts:
            model(batch).sum().backward()
        totals.append(counts.total())
    assert totals[1] - totals[0] <= 25
