"""Layers with kernels under all that PyTorch does to functions: second derivatives, torch.func, tracing, copies."""

import copy
import pickle
from functools import partial

import pytest
import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.autograd import forward_ad
from torch.func import functional_call, grad, jvp, vmap
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint
from torch.utils.flop_counter import FlopCounterMode
from torch_geometric.data import Batch

from gredkit import GREDLayer, HopIndex, add_hops, without_kernels
from gredkit.bench import graphs
from gredkit.nn.encoders.lru import LRU
from gredkit.nn.features.categorical import Categorical
from gredkit.nn.kernels.call import CALLED
from gredkit.nn.layer import through
from gredkit.registry import AGGREGATORS

pytestmark = pytest.mark.needs("compiler")

DIM = 6
# PyTorch's own LSTM, GRU and RNN know no torch.func, its attention no forward mode.
LAYERS = {
    **{name: {"aggregator": name} for name in AGGREGATORS},
    **{mode: {"encoder": partial(LRU, mode=mode)} for mode in ("kernel", "scan", "loop")},
    "weighted_sum": {"encoder": "weighted_sum", "glu": "half"},
    "mean encoder": {"encoder": "mean"},
}
NO_FUNC = {name: {"encoder": name} for name in ("rnn", "lstm", "gru")}
any_layer = pytest.mark.parametrize("name", LAYERS)


def hops():
    return HopIndex.of(Batch.from_data_list([add_hops(graph, 5) for graph in graphs.molecules(9, 2)]))


def built(name="sum", count=1, dtype=torch.float32):
    torch.manual_seed(0)
    layers = nn.ModuleList(GREDLayer(DIM, **(LAYERS | NO_FUNC)[name]) for _ in range(count)).to(dtype)
    index = hops()
    return layers, index, torch.randn(index.num_nodes, DIM, dtype=dtype)


def near(ours, theirs):
    return torch.allclose(ours, theirs, rtol=1e-4, atol=1e-4 * max(theirs.abs().max().item(), 0.1))


@any_layer
def test_torch_func_and_forward_mode_give_the_derivatives_of_the_backward_pass(name):
    layers, index, h = built(name, 2)
    names, values = zip(*layers.named_parameters(), strict=True)

    def loss(parameters, h):
        return (
            functional_call(Stack(layers, index), {f"layers.{k}": v for k, v in parameters.items()}, (h,)).cos().sum()
        )

    found = grad(loss)(dict(zip(names, values, strict=True)), h)
    several, towards = torch.randn(3, *h.shape), torch.randn_like(h)
    mapped = vmap(lambda h: through(layers, h, index))(several)
    _, tangent = jvp(lambda h: through(layers, h, index), (h,), (towards,))
    with forward_ad.dual_level():
        dual = forward_ad.unpack_dual(through(layers, forward_ad.make_dual(h, towards), index)).tangent
    CALLED.clear()  # now with kernels, on the same index
    expected = torch.autograd.grad(through(layers, h, index).cos().sum(), values)
    assert CALLED
    assert all(near(found[name], gradient) for name, gradient in zip(names, expected, strict=True))
    with without_kernels():
        assert near(mapped, torch.stack([through(layers, one, index) for one in several]))
    x, into = h.clone().requires_grad_(), torch.randn_like(h)
    (slope,) = torch.autograd.grad(through(layers, x, index), x, into)
    for found in (tangent, dual):
        assert (found * into).sum().item() == pytest.approx((slope * towards).sum().item(), rel=1e-3, abs=1e-3)


class Stack(nn.Module):
    """Layers as one module of h alone."""

    def __init__(self, layers, index):
        super().__init__()
        self.layers, self.index = layers, index

    def forward(self, h):
        return through(self.layers, h, self.index)


@pytest.mark.parametrize("name", LAYERS | NO_FUNC)
def test_a_second_derivative_is_refused_in_a_sentence_and_right_without_kernels(name):
    layers, index, h = built(name)
    x = h.requires_grad_()

    def second():
        value = through(layers, x, index).sum() + x.square().sum()
        (first,) = torch.autograd.grad(value, x, create_graph=True)
        return torch.autograd.grad(first.square().sum(), x)[0]

    with pytest.raises(RuntimeError, match=r"no second derivative: .*without_kernels"):
        second()
    with without_kernels():
        single = second()
    layers.double()
    x = h.detach().double().requires_grad_()
    assert torch.allclose(single.double(), second(), rtol=1e-2, atol=1e-2 * second().abs().max().item())
    assert torch.autograd.gradgradcheck(
        lambda x: through(layers, x, index), (x[:].detach().requires_grad_(),), fast_mode=True
    )


@pytest.mark.parametrize("reentrant", [True, False])
def test_checkpointed(reentrant):
    layers, index, h = built(count=2)
    for layer in layers:
        layer.dropout.p = 0.4
    gradients = []
    for call in (through, partial(checkpoint, through, use_reentrant=reentrant)):
        torch.manual_seed(1)
        x = h.clone().requires_grad_()
        layers.zero_grad()
        call(layers, x, index).cos().sum().backward()
        gradients.append([x.grad, *(parameter.grad for parameter in layers.parameters())])
    assert all(map(torch.equal, *gradients))


def test_saved_tensors_that_come_back_in_another_order_are_refused_before_c_reads_them():
    layers, index, h = built(count=2)
    with torch.autograd.graph.saved_tensors_hooks(lambda x: x, lambda x: x.mT.contiguous().mT if x.dim() == 2 else x):
        out = through(layers, h, index)
    with pytest.raises(ValueError, match="contiguous"):
        out.sum().backward()


def test_copies_are_known_too():
    layers, index, h = built(count=2)
    expected = through(layers, h, index)
    for other in (copy.deepcopy(layers), pickle.loads(pickle.dumps(layers))):
        CALLED.clear()
        assert torch.equal(through(other, h, index), expected)
        assert "layers_forward" in CALLED


def test_what_watches_every_operation_sees_them_all():
    layers, index, h = built(count=2)
    with without_kernels(), FlopCounterMode(display=False) as expected:
        through(layers, h, index)
    CALLED.clear()
    with FlopCounterMode(display=False) as found:
        through(layers, h, index)
    assert found.get_total_flops() == expected.get_total_flops() > 0
    with FakeTensorMode(allow_non_fake_inputs=True):
        assert through(layers, h, index).shape == h.shape
    assert not {name for name in CALLED if name.startswith(("layers", "set_mlp", "gate"))}


@pytest.mark.parametrize("path", dict(GREDLayer(DIM).named_modules()))
def test_a_method_changed_on_a_class_is_called(path, monkeypatch):
    layers, index, h = built(count=2)
    seen = []
    cls = type(layers[0].get_submodule(path))
    forward = cls.forward

    def noted(self, *inputs):
        seen.append(self)
        return forward(self, *inputs)

    monkeypatch.setattr(cls, "forward", noted)
    through(layers, h, index)
    assert seen


@pytest.mark.parametrize(
    ("owner", "name"),
    [(F, "linear"), (F, "layer_norm"), (F, "gelu"), (nn.Module, "__call__"), (LRU, "_polar"), (GREDLayer, "gated"),
     (GREDLayer, "sequences"),     (HopIndex, "with_empty_hops")],
)  # fmt: skip
def test_what_a_kernel_skips_is_called_where_somebody_changed_it(owner, name, monkeypatch):
    layers, index, h = built(count=2)
    original, seen = vars(owner)[name], []

    def noted(*inputs, **settings):
        seen.append(name)
        return original(*inputs, **settings) if callable(original) else original.func(*inputs)

    monkeypatch.setattr(owner, name, noted if callable(original) else property(noted))
    through(layers, h, index)
    assert seen


def test_dropout_is_what_the_module_says():
    layers, index, h = built(count=2)
    for p, training, is_same in [(0.5, True, False), (0.5, False, True), (0.0, True, True)]:
        for layer in layers:
            layer.dropout.p = p
        layers.train(training)
        assert torch.equal(through(layers, h, index), through(layers, h, index)) is is_same


@pytest.mark.parametrize("change", ["none", "subclass", "hook", "padding", "dropout", "identity"])
def test_symbols_are_encoded_once_only_if_that_is_the_same(change):
    torch.manual_seed(0)
    features, x, seen = Categorical((4,), DIM), torch.randint(4, (30,)), []
    if change == "subclass":
        features.embeds[0].__class__ = type("Own", (nn.Embedding,), {"forward": lambda self, x: 2 * self.weight[x]})
    elif change == "hook":
        features.dense.register_forward_hook(lambda module, inputs, out: seen.append(len(out)))
    elif change == "padding":
        features.embeds.get_submodule("0").__dict__["padding_idx"] = 1
    elif change == "dropout":
        features.add_module("dense", nn.Dropout(0.5))
    elif change == "identity":
        features.add_module("gelu", nn.Identity())
    torch.manual_seed(1)
    ours = features(x)
    gradients = torch.autograd.grad(ours.cos().sum(), list(features.parameters()))
    torch.manual_seed(1)
    with without_kernels():
        theirs = features(x)
        expected = torch.autograd.grad(theirs.cos().sum(), list(features.parameters()))
    assert near(ours, theirs)
    assert all(map(near, gradients, expected))
    assert set(seen) <= {30}
