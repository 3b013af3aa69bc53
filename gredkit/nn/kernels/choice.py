"""Whether kernels, few PyTorch operations or the modules do the work of GRED layers: the only place that decides it.

All three compute the same function. The kernels are used where `known` recognises every module, weight and setting and
`usable` says that kernels can run on these tensors. Where they cannot, as on a GPU, `gredkit.nn.stacked` is used for
modules that `known` recognises. Otherwise the modules are called.
"""

from collections.abc import Callable, Sequence
from itertools import chain
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from gredkit.nn.kernels import known, ops
from gredkit.nn.kernels.encoders import WEIGHTS, Encoder, is_mostly_padding
from gredkit.nn.kernels.shapes import OF_MLP
from gredkit.nn.kernels.usable import can_fuse, can_stack, is_ordinary
from gredkit.nn.stack_index import StackIndex
from gredkit.nn.stacked import Common, stacked

if TYPE_CHECKING:
    from gredkit.nn.hop_index import HopIndex
    from gredkit.nn.layer import GREDLayer


def fused_stack(layers: nn.ModuleList, h: Tensor, hops: "HopIndex") -> Tensor | None:
    """All layers in one call of the kernels or, where kernels cannot run, by few operations of PyTorch.

    None if the modules are not known, or if kernels are faster layer by layer.

    Shape: h [nodes, dim] -> [nodes, dim]
    """
    if can_fuse(h):
        return _at_once(list(layers), known.WITH_SUMS, h, hops)
    return _stacked(list(layers), h, hops)


def fused_layer(layer: "GREDLayer", h: Tensor, hops: "HopIndex") -> Tensor | None:
    """One layer: in one call behind its aggregator, or part by part with kernels where they apply.

    None if kernels cannot run on these tensors at all, or if this is a subclass or has methods of its own.
    Shape: h [nodes, dim] -> [nodes, dim]
    """
    if not can_fuse(h) or not known.is_itself(layer):
        return None
    a = layer.aggregator(h, hops)
    if (done := _at_once([layer], known.BEHIND_SUMS, a, hops)) is not None:
        return done
    sequences = layer.sequences(hops)
    z, x = _rows(layer, a, sequences)
    y = layer.encoder(z, sequences)
    return _gated(layer, y, x if layer.skip else torch.zeros_like(y))


def _rows(layer: "GREDLayer", a: Tensor, hops: "HopIndex") -> tuple[Tensor, Tensor]:
    """z of every set, and x of every node itself. Shape: a [sets + 1, dim] -> [sets + 1, dim], [nodes, dim]"""
    if can_fuse(a) and known.is_itself(hops) and a.shape[:-1] == (hops.num_sets + 1,):
        found = known.read((known.MLP, layer.mlp), (known.NORM, layer.norm), d=a.shape[1])
        if found is not None:
            return ops.set_mlp(a, hops.index, [*found.weights[0], *found.weights[1]], found.gelu, found.eps)
    x = layer.mlp(a)
    return layer.norm(x), hops.targets.sum(x)


def _gated(layer: "GREDLayer", y: Tensor, x: Tensor) -> Tensor:
    """Shape: y [nodes, dim], x [nodes, dim] -> [nodes, dim]"""
    if can_fuse(y, x) and y.dim() == 2 and y.shape == x.shape:
        parts = (known.GELU, layer.gelu), (known.GLU, layer.glu), (known.DROPOUT, layer.dropout)
        if (found := known.read(*parts, d=y.shape[1])) is not None:
            return ops.gate(y, x, found.weights[1], found.gelu, found.dropout)
    return layer.gated(y) + x


def _at_once(layers: Sequence[nn.Module], part: known.Part, x: Tensor, hops: "HopIndex") -> Tensor | None:
    """Layers in one call; None if the kernels do not know them, or another way is faster.

    Shape: x [nodes, dim], or [sets + 1, dim] if it is `BEHIND_SUMS` -> [nodes, dim]
    """
    if not can_fuse(x) or not known.is_itself(hops):
        return None
    sets = None if part is known.BEHIND_SUMS else hops.sets
    rows = hops.num_sets + 1 if sets is None else hops.num_nodes
    if x.shape[:-1] != (rows,) or not (sets is None or known.is_itself(sets)):
        return None
    found = known.read(*((part, layer) for layer in layers), d=x.shape[1])
    if found is None or len(set(map(len, found.weights))) != 1:  # no layer, or gates of both forms
        return None
    sequences: HopIndex = layers[0].sequences(hops)  # type: ignore[operator]
    if (encoder := _encoder(layers, found, sequences)) is None:
        return None
    middle = slice(OF_MLP, OF_MLP + WEIGHTS[encoder.kind])
    weights = [ops.LayerWeights(one[:OF_MLP], one[middle], one[middle.stop :]) for one in found.weights]
    if encoder.kind == "LRU":
        weights = [one._replace(encoder=ops.for_each_state(one.encoder)) for one in weights]
    return ops.layers(x, sequences.index, sets, encoder, weights, found.gelu, found.eps, found.dropout)


def _encoder(layers: Sequence[nn.Module], found: known.Found, hops: "HopIndex") -> Encoder | None:
    """The encoder of all layers; None if they differ, or if it is faster alone or in PyTorch."""
    kind, *others = {known.kind_of(layer.encoder) for layer in layers}  # type: ignore[arg-type]
    if others or (kind == "LRU" and not all(layer.encoder.is_folded(hops) for layer in layers)):  # type: ignore[operator, union-attr]
        return None
    if kind == "LRU":
        return Encoder(kind, width=hops.width)
    if kind == "Attention":
        heads = found.bound["heads"]
        return None if is_mostly_padding(heads) else Encoder(kind, heads=heads)
    return Encoder(kind, hops.states)


def prepare(layers: nn.ModuleList, hops: "HopIndex") -> None:
    """Compute on the host which forms of the hops `fused_stack` will read where kernels cannot run."""
    if not known.is_itself(hops) or not len(layers) or _read(list(layers), layers[0].dim, is_ordinary) is None:  # type: ignore[arg-type]
        return
    sequences: HopIndex = layers[0].sequences(hops)  # type: ignore[operator]
    index = sequences.__dict__["stack"] = StackIndex.ahead(sequences)
    if layers.training:
        _ = index.sets.transposed, index.grid and index.grid.transposed


def _read(layers: Sequence[nn.Module], dim: int, is_fit: Callable[[Tensor], bool]) -> known.Found | None:
    """The weights of layers that can be stacked; None if they differ from the table."""
    found = known.read(*((known.LAYER, layer) for layer in layers), is_fit=is_fit, d=dim)
    if found is None or len(set(map(len, found.weights))) != 1:  # no layer, or gates of both forms
        return None
    return found


def _stacked(layers: Sequence[nn.Module], h: Tensor, hops: "HopIndex") -> Tensor | None:
    """Layers by few operations, on any device; None if they differ from the table.

    Shape: h [nodes, dim] -> [nodes, dim]
    """
    if not can_stack(h) or not known.is_itself(hops) or not known.is_itself(hops.sets):
        return None
    if h.dim() != 2 or not 0 < len(h) == hops.num_nodes == hops.sets.num_columns:
        return None

    def is_fit(weight: Tensor) -> bool:
        return is_ordinary(weight) and weight.dtype == h.dtype and weight.device == h.device

    found = _read(layers, h.shape[1], is_fit)
    if found is None:
        return None
    is_kept = torch.is_grad_enabled() and any(one.requires_grad for one in (h, *chain(*found.weights)))
    sequences = layers[0].sequences(hops)  # type: ignore[operator]
    common = Common(sequences.stack, len(layers), found.gelu, found.eps, found.dropout, is_kept)
    return stacked(common, h, found.weights)
