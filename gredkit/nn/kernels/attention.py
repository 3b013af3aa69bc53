"""Attention of each node over the hops of its sequence."""

import ctypes

import torch
from torch import Tensor

from gredkit.nn.kernels.call import call, expect, expect_sizes
from gredkit.nn.kernels.index import Index
from gredkit.nn.kernels.shapes import WIDE, columns


class _Shape(ctypes.Structure):
    """All sizes, as a C structure."""

    _fields_ = tuple((name, ctypes.c_int64) for name in ("nodes", "sets", "cuts", "heads", "size"))


def attention(heads: int, q: Tensor, kv: Tensor, index: Index) -> tuple[Tensor, Tensor]:
    """What each node reads, and the weights of its hops. Shape: -> [nodes, e heads], [rows, heads]"""
    shape = _checked(heads, q, kv, index)
    p, out = q.new_empty(len(index.sets), heads), torch.empty_like(q)
    call("attention_forward", shape, (index.start, index.sets, index.cuts), q, kv, p, out)
    return out, p


def attention_backward(
    heads: int, q: Tensor, kv: Tensor, index: Index, p: Tensor, into_out: Tensor
) -> tuple[Tensor, Tensor]:
    """The gradients of q and kv."""
    shape = _checked(heads, q, kv, index)
    expect([p, into_out], [(len(index.sets), heads), tuple(q.shape)])
    into_q, into_kv = torch.empty_like(q), torch.empty_like(kv)
    call("attention_backward", shape, (index.start, index.sets, index.cuts), q, kv, p, into_out, into_q, into_kv)
    return into_q, into_kv


def _checked(heads: int, q: Tensor, kv: Tensor, index: Index) -> _Shape:
    """The sizes, after checking that all tensors have them."""
    expect_sizes(heads=heads)
    d = columns(q)
    if heads % WIDE or d % heads:
        raise ValueError(f"the kernel takes a multiple of {WIDE} heads that divides {d}, not {heads}")
    expect([q, kv], [(len(index), d), (index.num_sets, 2 * d)])
    index.unchanged()
    return _Shape(len(index), index.num_sets, len(index.cuts) - 1, heads, d // heads)
