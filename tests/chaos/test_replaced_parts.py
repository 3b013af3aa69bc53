"""Whatever is done to a part of a layer, kernels make no difference: same value and gradients, or same error."""

from copy import deepcopy
from functools import partial

import pytest
import torch
from helpers.part_changes import changes_of, place_of
from torch import nn
from torch_geometric.data import Batch

from gredkit import GREDLayer, HopIndex, add_hops
from gredkit.bench import graphs
from gredkit.nn.encoders.attention import Attention
from gredkit.nn.encoders.lru import LRU
from gredkit.nn.kernels.usable import without_kernels
from gredkit.nn.layer import through
from gredkit.registry import AGGREGATORS, ENCODERS

pytestmark = pytest.mark.needs("compiler")

DIM = 6
TOLERANCE = 2e-4  # of the largest number, beside what rounding does: a norm of equal numbers multiplies it
ROUNDING = 1e-6  # of the input, another one that PyTorch is asked about where both ways differ by more
ALIKE = ("gla", "mingru", "retention", "rg_lru")  # modules of PyTorch around the same index, as others below
LAYERS = {
    **{f"{name}, sum": {"encoder": name} for name in ENCODERS if name not in ALIKE},
    **{f"lru, {name}": {"aggregator": name} for name in AGGREGATORS if name != "sum"},
    **{f"lru by {mode}": {"encoder": partial(LRU, mode=mode, state_dim=5)} for mode in ("kernel", "scan", "loop")},
    "lru by sets": {"encoder": partial(LRU, state_dim=1), "empty_hops": "zero"},
    "attention in order": {"encoder": partial(Attention, order=True)},
    "half gate": {"glu": "half", "gelu": "tanh", "expand": 2},
}
STACKED = ("lru, sum", "lru by kernel", "half gate")  # which PyTorch computes in one piece, too
HOPS = HopIndex.of(Batch.from_data_list([add_hops(graph, 5) for graph in graphs.molecules(9, 2)]))
INTO = torch.randn(HOPS.num_nodes, DIM, generator=torch.Generator().manual_seed(1))


def built(settings):
    """Two layers with weights that are neither zero nor one."""
    torch.manual_seed(0)
    layers = nn.ModuleList(GREDLayer(DIM, **settings) for _ in range(2))
    with torch.no_grad():
        for parameter in layers.parameters():
            parameter += 0.1 * torch.randn_like(parameter)
    return layers


def one_by_one(layers, h, hops):
    for layer in layers:
        h = layer(h, hops)
    return h


def outcome(layers, path, change, number, rounding=0.0, way=one_by_one):
    """Value and gradients behind a changed layer, alone or one of two, in training or not; or the error's type."""
    layers = deepcopy(layers if number % 3 else layers[:1])
    layers.train(number % 2 == 0)
    torch.manual_seed(3)
    try:
        change(place_of(layers, f"{number % 3 // 2}{path}"))
    except Exception:  # it cannot be done to this part
        return None
    draw = torch.Generator().manual_seed(2)
    h, noise = (torch.randn(HOPS.num_nodes, DIM, generator=draw) for _ in range(2))
    h = (h * (1 + rounding * noise)).requires_grad_()
    try:
        out = way(layers, h, HOPS)
        inputs = {"h": h, **{name: p for name, p in layers.named_parameters() if p.requires_grad}}
        gradients = torch.autograd.grad((INTO * out).sum(), list(inputs.values()), allow_unused=True)
    except Exception as error:
        return type(error)
    return {"": out.detach(), **dict(zip(inputs, gradients, strict=True))}


def is_same(ours, theirs, rounded):
    if not isinstance(ours, dict) or not isinstance(theirs, dict):
        return ours == theirs
    return ours.keys() == theirs.keys() and all(is_near(ours[name], theirs[name], rounded[name]) for name in ours)


def is_near(ours, theirs, rounded):
    """Whether two tensors differ by no more than the tolerance and ten times what rounding does to one of them."""
    if ours is None or theirs is None:
        return ours is theirs
    if ours.dtype != theirs.dtype or ours.shape != theirs.shape:
        return False
    scale = max(theirs.abs().max().item(), 0.1) if theirs.numel() else 1.0
    moved = (rounded - theirs).abs().nan_to_num(0.0).max().item() if theirs.numel() else 0.0
    atol = TOLERANCE * scale + 10 * moved
    return torch.allclose(ours.detach(), theirs.detach(), rtol=0, atol=atol, equal_nan=True)


@pytest.mark.filterwarnings("ignore")  # PyTorch warns of some of these
@pytest.mark.parametrize("name", LAYERS)
def test_every_change_of_every_part(name, count, request):
    layers, every = built(LAYERS[name]), 1 if request.config.getoption("--long") else 7
    found = []
    for path, module in layers[0].named_modules():
        path = f".{path}" if path else ""
        for what, change in changes_of(module, DIM).items():
            found.append((path, what, change))
    tried, errors, wrong = 0, 0, []
    for number, (path, what, change) in enumerate(found):
        if number % every:
            continue
        number //= every
        if what.startswith("p = 0.0"):
            number |= 1
        ways = [outcome(layers, path, change, number, way=through)]
        with without_kernels():
            theirs = outcome(layers, path, change, number)
            if name in STACKED:
                ways.append(outcome(layers, path, change, number, way=through))
            rounded = outcome(layers, path, change, number, ROUNDING)
        for ours in ways:
            if ours is None and theirs is None:
                continue
            tried, errors = tried + 1, errors + isinstance(theirs, type)
            if not is_same(ours, theirs, rounded):
                wrong.append(f"{path} {what} ({number}): {ours} and {theirs}")
    count("changes of a part of a layer", tried)
    count("of these, changes that are an error with and without kernels", errors)
    assert not wrong, "\n".join(wrong)
