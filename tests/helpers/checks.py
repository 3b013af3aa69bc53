"""What every aggregator and encoder must stand: `module(x, hops)` in all precisions, compiled, differentiated."""

import copy
from collections.abc import Sequence

import pytest
import torch
from torch import Tensor, nn
from torch._dynamo.utils import counters
from torch.autograd import gradcheck
from torch.func import functional_call

from gredkit.data.hops.index import HopData
from gredkit.nn.hop_index import HopIndex
from helpers.graphs import index_of

# What the compiler says about its own code, whatever is compiled.
ignore_compiler_warnings = pytest.mark.filterwarnings(
    "ignore:.*should not be instantiated:DeprecationWarning",
    "ignore:The .grad attribute of a Tensor that is not a leaf:UserWarning",
)


def stirred(module: nn.Module) -> nn.Module:
    """Move all parameters off their initial values, some of which are zero or one, in double precision."""
    generator = torch.Generator().manual_seed(1)
    module = module.double()
    with torch.no_grad():
        for parameter in module.parameters():
            parameter += 0.1 * torch.randn(parameter.shape, generator=generator, dtype=torch.float64)
    return module


def assert_near(found: Sequence[Tensor], expected: Sequence[Tensor], tolerance: float, floor: float = 0.0) -> None:
    """Value and gradients as `run` returns them: finite, and off by no more than a share of the largest number.

    Some gradients are zero but for rounding, as that of a bias under a softmax: with a `floor` a gradient is
    measured by no less than this share of the largest gradient of all.
    """
    least = floor * max(gradient.abs().max().item() for gradient in expected[1:])
    floors = [0.0] + [least] * (len(expected) - 1)
    for one, other, smallest in zip(found, expected, floors, strict=True):
        assert one.shape == other.shape
        assert one.isfinite().all()
        difference = (one.to(other.dtype) - other).abs().max().item()
        assert difference <= tolerance * max(other.abs().max().item(), smallest)


def run(module: nn.Module, x: Tensor, hops: HopIndex, weight: Tensor) -> list[Tensor]:
    """The value, the gradient of the input and those of all parameters, for the loss Σ weight * value."""
    x = x.detach().clone().requires_grad_()
    y = module(x, hops)
    loss = (weight.to(y.dtype) * y).sum()
    return [y.detach(), *torch.autograd.grad(loss, (x, *module.parameters()))]


def weight_for(module: nn.Module, x: Tensor, hops: HopIndex) -> Tensor:
    with torch.no_grad():
        shape = module(x, hops).shape
    return torch.randn(shape, generator=torch.Generator().manual_seed(2), dtype=x.dtype)


def assert_gradients(module: nn.Module, x: Tensor, hops: HopIndex) -> None:
    """By finite differences, with respect to the input and to the parameters."""
    assert gradcheck(lambda x: module(x, hops), (x.detach().requires_grad_(),))
    names = [name for name, _ in module.named_parameters()]
    if not names:
        return

    def of_parameters(*values: Tensor) -> Tensor:
        return functional_call(module, dict(zip(names, values, strict=True)), (x.detach(), hops))

    values = [p.detach().clone().requires_grad_() for p in module.parameters()]
    assert gradcheck(of_parameters, tuple(values), fast_mode=True)


def assert_compiles(module: nn.Module, cases: Sequence[tuple[Tensor, list[HopData]]], backend: str) -> None:
    """Compiled once, for batches of several shapes: the values and gradients of the module as it is."""
    torch._dynamo.reset()
    counters.clear()
    compiled = torch.compile(module, backend=backend)
    for x, members in cases:
        hops = index_of(*members)
        weight = weight_for(module, x, index_of(*members))
        found = run(compiled, x, hops, weight)  # fills in the index, which the next layer finds filled in
        for index in (hops, index_of(*members)):
            assert_near(found, run(module, x, index, weight), 1e-5, floor=0.1)
    assert counters["stats"]["calls_captured"] > 0  # it did not fall back to running the module as it is
    torch._dynamo.reset()


def assert_half_precision(module: nn.Module, x: Tensor, hops: HopIndex, dtype: torch.dtype) -> None:
    """Values and gradients near those of single precision, for parameters and inputs that both can hold."""
    half = copy.deepcopy(module).to(dtype)
    single = copy.deepcopy(half).float()
    x = x.to(dtype)
    weight = weight_for(single, x.float(), hops).to(dtype)
    found = run(half, x, hops, weight)
    assert found[0].dtype == dtype
    tolerance = 0.04 if dtype == torch.bfloat16 else 0.01
    assert_near(found, run(single, x.float(), hops, weight.float()), tolerance, floor=0.1)


def assert_autocast(module: nn.Module, x: Tensor, hops: HopIndex) -> None:
    """Values and gradients near those of single precision."""
    module, x = copy.deepcopy(module).float(), x.float()
    weight = weight_for(module, x, hops)
    with torch.autocast("cpu", torch.bfloat16):
        found = run(module, x, hops, weight)
    assert_near(found, run(module, x, hops, weight), 0.04, floor=0.1)
