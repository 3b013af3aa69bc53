"""Several layers in one call of C: the sums over their sets and all following steps."""

import ctypes
from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from gredkit.nn.kernels.build import library
from gredkit.nn.kernels.call import call, expect
from gredkit.nn.kernels.encoders import WEIGHTS, Encoder, EncoderShape, index_for, shape_of, shapes_of
from gredkit.nn.kernels.index import Index, Sums
from gredkit.nn.kernels.shapes import OF_MLP, Weights, columns, form, four, of_gate, of_mlp, rows
from gredkit.nn.kernels.steps import Dropout


class Layers(NamedTuple):
    """The settings that all layers share."""

    encoder: Encoder
    gelu: str
    eps: float
    dropout: Dropout  # with a seed for each layer


class _Shape(ctypes.Structure):
    """The same settings with all sizes, as a C structure."""

    _fields_ = (
        *((name, ctypes.c_int64) for name in ("layers", "weights", "hidden", "gelu")),
        *((name, ctypes.c_double) for name in ("eps", "scale")),
        ("encoder", EncoderShape),
    )


def layers(
    of: Layers, index: Index, sums: Sums | None, weights: Sequence[Weights], x: Tensor, keep: bool
) -> tuple[Tensor, list[Tensor]]:
    """h, and what each layer keeps for the backward pass.

    Shape: x [nodes, d], or [sets, d] without `sums` -> [nodes, d]
    """
    shape = _checked(of, index, sums, weights, x, keep)
    kept = [x.new_empty(_room(shape)) for _ in range(shape.layers if keep else 1)]
    h = x.new_empty(len(index), shape.encoder.dim)
    where = index_for(of.encoder, index), _rows(sums)
    call("layers_forward", shape, *_seeds(of), *where, _in_a_row(of, weights), x, kept, h)
    return h, kept


def layers_backward(
    of: Layers, index: Index, sums: Sums | None, back: Sums | None, weights: Sequence[Weights], x: Tensor,
    kept: Weights, into_h: Tensor, into: Sequence[Weights],
) -> Tensor:  # fmt: skip
    """The gradient of x; `back` is the transpose of `sums`."""
    shape = _checked(of, index, sums, weights, x, keep=True)
    for one, gradients in zip(weights, into, strict=True):
        expect(gradients, [tuple(weight.shape) for weight in one])
    expect([into_h, *kept], [(len(index), shape.encoder.dim), *[(_room(shape),)] * shape.layers])
    if sums is not None:
        if back is None or (len(back), back.num_columns) != (sums.num_columns, len(sums)):
            raise ValueError("`back` is not the transpose of `sums`")
        back.unchanged()
    into_x = torch.empty_like(x)
    where = index_for(of.encoder, index), _rows(sums), _rows(back)
    both = _in_a_row(of, weights), _in_a_row(of, into)
    call("layers_backward", shape, *_seeds(of), *where, both[0], x, kept, into_h, into_x, both[1])
    return into_x


def _checked(of: Layers, index: Index, sums: Sums | None, weights: Sequence[Weights], x: Tensor, keep: bool) -> _Shape:
    """The sizes, after checking that all tensors have them."""
    if not weights or len(of.dropout.seeds) != len(weights):
        raise ValueError(f"{len(weights)} layers have {len(of.dropout.seeds)} seeds")
    first, at = weights[0], OF_MLP + WEIGHTS.get(of.encoder.kind, 0)
    d, m = columns(x), rows(first, 2)
    encoder = shape_of(of.encoder, index, d, first[OF_MLP:at], keep)
    shapes = [*of_mlp(d, m), *shapes_of(of.encoder, encoder.inner, d), *of_gate(d, len(first) - at)]
    for one in weights:
        expect(one, shapes)
    expect([x], [(index.num_sets if sums is None else len(index), d)])
    if sums is not None:
        if (len(sums), sums.num_columns) != (index.num_sets, len(index)):
            raise ValueError("the sums do not belong to the sets and nodes of the index")
        sums.unchanged()
    return _Shape(len(weights), at - OF_MLP, m, form(of.gelu), of.eps, of.dropout.scale, encoder)


def _room(shape: _Shape) -> int:
    """How many numbers a layer keeps for the backward pass."""
    found = library()
    assert found is not None
    return found.layer_kept(ctypes.byref(shape))


def _seeds(of: Layers) -> tuple[int, ctypes.Array[ctypes.c_uint32]]:
    return of.dropout.limit, (ctypes.c_uint32 * len(of.dropout.seeds))(*of.dropout.seeds)


def _rows(sums: Sums | None) -> tuple[Tensor | None, Tensor | None]:
    return (None, None) if sums is None else (sums.start, sums.columns)


def _in_a_row(of: Layers, weights: Sequence[Weights]) -> list[Tensor | None]:
    """The weights of all layers in one list; None for those of the value in the half form."""
    at = OF_MLP + WEIGHTS[of.encoder.kind]
    return [one for layer in weights for one in (*layer[:at], *four(layer[at:]))]
