"""The encoders that run in C, as a step of a layer: from the rows of sets to what each node reads."""

import ctypes
from typing import NamedTuple

import torch
from torch import Tensor

from gredkit.nn.kernels.build import library
from gredkit.nn.kernels.call import call, expect, expect_sizes
from gredkit.nn.kernels.index import Index
from gredkit.nn.kernels.shapes import Shapes, Weights, columns, of_attention, of_network, of_recurrence, padded, rows
from gredkit.nn.kernels.states import States

KINDS = ("RNN", "LSTM", "GRU", "Attention", "LRU")  # in the order of their numbers in the C code
GATES = {"RNN": 1, "LSTM": 4, "GRU": 3}
WEIGHTS = {**dict.fromkeys(GATES, 6), "Attention": 8, "LRU": 7}  # how many
MOST_KEPT = 2**26  # bytes of the states of one layer; what is larger is faster computed again than written and read


class Encoder(NamedTuple):
    """An encoder without its weights."""

    kind: str
    states: States | None = None  # of an RNN, LSTM or GRU
    heads: int = 1  # of attention
    width: int = 1  # the number of hops with a matrix, of an LRU


class EncoderShape(ctypes.Structure):
    """The same with all sizes, as a C structure."""

    _fields_ = tuple(
        (name, ctypes.c_int64)
        for name in (
            *("kind", "nodes", "sets", "cuts", "dim", "inner"),
            *("states", "heads", "rows", "width", "keep", "records"),
        )
    )


def encoder(of: Encoder, z: Tensor, index: Index, weights: Weights, keep: bool) -> tuple[Tensor, Tensor]:
    """y, and what the backward pass uses. Shape: z [sets, d] -> [nodes, d]"""
    shape = _checked(of, z, index, weights, keep)
    kept, y = z.new_empty(room(shape)), z.new_empty(shape.nodes, shape.dim)
    call("encoder_forward", shape, index_for(of, index), z, weights, kept, y)
    return y, kept


def encoder_backward(
    of: Encoder, z: Tensor, index: Index, weights: Weights, kept: Tensor, into_y: Tensor, into: Weights
) -> Tensor:
    """The gradient of z."""
    shape = _checked(of, z, index, weights, keep=True)
    expect([kept, into_y], [(room(shape),), (shape.nodes, shape.dim)])
    expect(into, [tuple(weight.shape) for weight in weights])
    into_z = torch.empty_like(z)
    call("encoder_backward", shape, index_for(of, index), z, weights, kept, into_y, into_z, into)
    return into_z


def _checked(of: Encoder, z: Tensor, index: Index, weights: Weights, keep: bool) -> EncoderShape:
    """The sizes, after checking that all tensors have them."""
    d = columns(z)
    shape = shape_of(of, index, d, weights, keep)
    expect([z, *weights], [(index.num_sets, d), *shapes_of(of, shape.inner, d)])
    return shape


def shape_of(of: Encoder, index: Index, d: int, weights: Weights, keep: bool) -> EncoderShape:
    """The sizes, after checking those that are not sizes of weights, and the indices."""
    if of.kind not in KINDS:
        raise ValueError(f"an encoder is one of {', '.join(KINDS)}, not {of.kind!r}")
    n, gates = rows(weights, 0), GATES.get(of.kind, 1)
    expect_sizes(heads=of.heads)
    if n % gates or n % of.heads:
        raise ValueError(f"{gates} gates, or {of.heads} heads, do not divide {n} rows of weights")
    index.expect_hops(of.width if of.kind == "LRU" else index.longest)
    if of.kind in GATES:
        if of.states is None or of.states.index is not index:
            raise ValueError("the states do not belong to the index")
        of.states.unchanged()
    sizes = len(index), index.num_sets, len(index.cuts) - 1, d, n // gates
    count = 0 if of.states is None else len(of.states)
    shape = EncoderShape(KINDS.index(of.kind), *sizes, count, of.heads, len(index.sets), of.width, keep, 0)
    shape.records = keep and of.kind in GATES and _found().records_room(ctypes.byref(shape)) * 4 <= MOST_KEPT
    return shape


def shapes_of(of: Encoder, n: int, d: int) -> Shapes:
    """The shapes of the weights."""
    if of.kind == "LRU":
        return of_recurrence(n, d)
    return of_attention(n, d) if of.kind == "Attention" else of_network(GATES[of.kind], n, d)


def index_for(of: Encoder, index: Index) -> tuple[Tensor | None, ...]:
    """The tensors in the order of the C structure."""
    return *index.tensors, *(8 * [None] if of.states is None else of.states.tensors)


def room(shape: EncoderShape) -> int:
    """How many numbers an encoder keeps for the backward pass."""
    return _found().encoder_kept(ctypes.byref(shape))


def is_mostly_padding(heads: int) -> bool:
    """Whether more than half of the heads that C computes are added zeros."""
    return padded(heads) > 2 * heads


def _found() -> ctypes.CDLL:
    found = library()
    assert found is not None
    return found
