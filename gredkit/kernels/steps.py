"""The kernels on tensors: what a forward pass returns and keeps, and what a backward pass makes of it.

All tensors are contiguous. Gradients of weights are written where the caller says.
"""

import ctypes
from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

import torch
from torch import Tensor

from gredkit.kernels.build import library

APART = 96  # nodes: rows for the parts that threads take by turns
WIDE = 8  # columns to which the kernels pad what they keep
WEIGHTS = 19  # of a layer: 8 of the set MLP, 7 of the recurrence, 4 of the gate

Weights = Sequence[Tensor]


class Index(NamedTuple):
    """The sequences of a batch's nodes, nearest hop first; the last set is the empty one."""

    start: Tensor  # [nodes + 1]
    sets: Tensor  # [rows]
    cuts: Tensor  # nodes between which no set is shared but the empty one, the first and the last included
    targets: Tensor  # [nodes] the set at hop 0
    node: Tensor  # [sets] the node whose hop 0 a set is, or -1

    @classmethod
    def of(cls, start: Tensor, sets: Tensor, num_sets: int) -> "Index":
        """Of sequences over so many sets, the empty one included."""
        assert start.dtype == sets.dtype == torch.int64
        start, sets, nodes = start.contiguous(), sets.contiguous(), len(start) - 1
        cuts, targets, node = (start.new_empty(count) for count in (nodes // APART + 2, nodes, num_sets))
        parts = _call("arrange", nodes, num_sets, APART, start, sets, targets, node, cuts)
        if not parts:
            raise IndexError(f"a sequence is empty, or lists a set that is none of the {num_sets}")
        return cls(start, sets, cuts[: parts + 1], targets, node)


class Sums(NamedTuple):
    """Which rows are added up to one."""

    start: Tensor  # [rows + 1]
    columns: Tensor


def set_sum(x: Tensor, start: Tensor, columns: Tensor) -> Tensor:
    """The sum of the listed rows of x. Shape: x [..., d], start [rows + 1] -> [rows, d]"""
    out = x.new_empty(len(start) - 1, x.shape[1])
    _call("set_sum", len(out), x.shape[1], start, columns, x, out)
    return out


def transpose(start: Tensor, columns: Tensor, num_columns: int) -> Sums:
    """The rows that list each column, in their order. Shape: start [rows + 1] -> start [num_columns + 1]"""
    assert start.dtype == columns.dtype == torch.int64
    start, columns = start.contiguous(), columns.contiguous()
    turned = Sums(start.new_empty(num_columns + 1), torch.empty_like(columns))
    if not _call("transpose", len(start) - 1, num_columns, start, columns, *turned):
        raise IndexError(f"a matrix of {num_columns} columns lists one that is not there")
    return turned


def set_mlp(
    a: Tensor, index: Index, weights: Weights, gelu: int, eps: float, keep: bool
) -> tuple[Tensor, Tensor, Tensor | None, Tensor | None]:
    """z, and what is kept: x, statistics of the norms, what gelu reads; if not, x of the nodes alone, and no more.

    Shape: a [sets, d] -> z [sets, d], x padded
    """
    (rows, d), m = a.shape, len(weights[2])
    z, x = torch.empty_like(a), a.new_empty(rows if keep else len(index.targets), _padded(d))
    stats, u = (a.new_empty(rows, 4), a.new_empty(rows, _padded(m))) if keep else (None, None)
    _call("set_mlp_forward", rows, d, m, gelu, eps, a, weights, index.node, u, x, stats, z)
    return z, x, stats, u


def set_mlp_backward(
    gelu: int, a: Tensor, weights: Weights, kept: Weights, node: Tensor, into_z: Tensor, into_x: Tensor, into: Weights
) -> Tensor:
    """The gradient of a; `into_x` is that of x at the sets that `node` gives a row of it."""
    (rows, d), m, (x, stats, u) = a.shape, len(weights[2]), kept
    into_a = torch.empty_like(a)
    _call("set_mlp_backward", rows, d, m, gelu, a, weights, u, x, stats, into_z, into_x, node, into_a, into)
    return into_a


def hop_matrices(width: int, recurrence: Weights) -> Tensor:
    """Shape: three of [n], W_in [n, d] twice, W_out [d, n] twice -> [width, d, d]"""
    states, dim = recurrence[3].shape
    matrices = recurrence[3].new_empty(width, dim, dim)
    _call("hop_matrices_forward", states, dim, width, recurrence, matrices)
    return matrices


def hop_matrices_backward(recurrence: Weights, into_matrices: Tensor, into: Weights) -> None:
    states, dim = recurrence[3].shape
    _call("hop_matrices_backward", states, dim, len(into_matrices), recurrence, into_matrices, into)


def hop_filter(z: Tensor, matrices: Tensor, index: Index) -> Tensor:
    """Shape: z [sets, d], matrices [width, d, d] -> [nodes, d]"""
    y = z.new_empty(len(index.start) - 1, z.shape[1])
    _call("hop_filter_forward", len(y), z.shape[1], len(matrices), index.start, index.sets, z, matrices, y)
    return y


def hop_filter_backward(z: Tensor, matrices: Tensor, index: Index, into_y: Tensor) -> tuple[Tensor, Tensor]:
    into_z, into_matrices = torch.empty_like(z), torch.empty_like(matrices)
    start, sets, cuts, *_ = index
    _call("hop_filter_backward", len(into_y), z.shape[1], len(matrices), len(z), start, sets, len(cuts) - 1, cuts,
          z, matrices, into_y, into_z, into_matrices)  # fmt: skip
    return into_z, into_matrices


def hop_scan(u: Tensor, re: Tensor, im: Tensor, index: Index) -> Tensor:
    """Shape: u [sets, 2 n], re and im [n] -> [nodes, 2 n]"""
    s = u.new_empty(len(index.start) - 1, u.shape[1])
    _call("hop_scan_forward", len(s), len(re), index.start, index.sets, u, re, im, s)
    return s


def hop_scan_backward(u: Tensor, re: Tensor, im: Tensor, index: Index, into_s: Tensor) -> tuple[Tensor, Tensor]:
    into_u, into_eigenvalues = torch.empty_like(u), re.new_empty(2, len(re))
    start, sets, cuts, *_ = index
    _call("hop_scan_backward", len(into_s), len(re), len(u), start, sets, len(cuts) - 1, cuts, u, re, im,
          into_s, into_u, into_eigenvalues)  # fmt: skip
    return into_u, into_eigenvalues


class Gate(NamedTuple):
    """How a gate is computed."""

    gelu: int
    limit: int  # below which a random number of 32 bits drops a value
    scale: float  # of those that stay
    seed: int

    @classmethod
    def of(cls, gelu: int, dropout: float) -> "Gate":
        seed = int(torch.randint(2**32, (), dtype=torch.int64)) if dropout else 0
        return cls(gelu, round(dropout * 2**32), 1 / (1 - dropout), seed)


def gate(settings: Gate, y: Tensor, x: Tensor, weights: Weights, keep: bool) -> tuple[Tensor, Tensor | None]:
    """h, and what is kept: what value and gate are made of. Shape: y [nodes, d] -> h"""
    nodes, d = y.shape
    h, pre = torch.empty_like(y), y.new_empty(nodes, 2 * _padded(d)) if keep else None
    _call("gate_forward", nodes, d, *settings, y, x, None, d, _four(weights), pre, h)
    return h, pre


def gate_backward(settings: Gate, y: Tensor, pre: Tensor, weights: Weights, into_h: Tensor, into: Weights) -> Tensor:
    into_y = torch.empty_like(y)
    _call("gate_backward", *y.shape, *settings, y, _four(weights), pre, into_h, into_y, _four(into))
    return into_y


class Layers(ctypes.Structure):
    """What layers have in common, as the kernels read it."""

    _fields_ = (
        *((name, ctypes.c_int64) for name in ("layers", "nodes", "sets", "cuts", "dim", "hidden", "states", "width")),
        *((name, ctypes.c_int64) for name in ("gelu", "keep")),
        *((name, ctypes.c_double) for name in ("eps", "scale")),
    )


class Dropout(NamedTuple):
    """Of layers: what is dropped, and the seeds of each."""

    limit: int  # below which a random number of 32 bits drops a value
    seeds: ctypes.Array[ctypes.c_uint32]

    @classmethod
    def of(cls, layers: int, share: float) -> "Dropout":
        seeds = torch.randint(2**32, (layers,), dtype=torch.int64).tolist() if share else [0] * layers
        return cls(round(share * 2**32), (ctypes.c_uint32 * layers)(*seeds))


def layers(
    of: Layers, dropout: Dropout, index: Index, sums: Sums | None, weights: Weights, x: Tensor
) -> tuple[Tensor, list[Tensor]]:
    """h, and what each layer keeps. Shape: x [nodes, d], or [sets, d] without `sums` -> [nodes, d]"""
    found = library()
    assert found is not None
    room = found.layer_kept(ctypes.byref(of))
    kept = [x.new_empty(room) for _ in range(of.layers if of.keep else 1)]
    h = x.new_empty(of.nodes, of.dim)
    _call("layers_forward", of, *dropout, index, sums or (None, None), _with_values(weights, of.layers), x, kept, h)
    return h, kept


def layers_backward(
    of: Layers, dropout: Dropout, index: Index, sums: Sums | None, back: Sums | None, weights: Weights, x: Tensor,
    kept: Weights, into_h: Tensor, into: Weights,
) -> Tensor:  # fmt: skip
    """The gradient of x. `back` are the sums of the transposed matrix."""
    into_x = torch.empty_like(x)
    both = _with_values(weights, of.layers), _with_values(into, of.layers)
    matrices = sums or (None, None), back or (None, None)
    _call("layers_backward", of, *dropout, index, *matrices, both[0], x, kept, into_h, into_x, both[1])
    return into_x


def _with_values(weights: Weights, layers: int) -> Sequence[Tensor | None]:
    """All weights of layers, None for those of the value in the half form."""
    each = len(weights) // layers
    if each == WEIGHTS:
        return weights
    at = WEIGHTS - 4  # those of the gate are the last four
    return [
        one for i in range(0, len(weights), each) for one in (*weights[i : i + at], *_four(weights[i + at : i + each]))
    ]


def _four(weights: Weights) -> tuple[Tensor | None, ...]:
    """Weight and bias of value and gate; None for those of the value in the half form."""
    return tuple(weights) if len(weights) == 4 else (None, None, *weights)


def _padded(columns: int) -> int:
    return -(-columns // WIDE) * WIDE


def _call(name: str, *arguments: Any) -> Any:
    """Call a kernel with as many threads as PyTorch uses."""
    found = library()
    assert found is not None
    return getattr(found, name)(torch.get_num_threads(), *map(_as_c, arguments))


def _as_c(value: Any) -> Any:
    """Tensors become pointers, sequences of tensors structures of pointers."""
    if isinstance(value, Tensor):
        return value.data_ptr()
    if isinstance(value, ctypes.Structure):
        return ctypes.byref(value)
    if isinstance(value, tuple | list):
        return ctypes.byref(_pointers(len(value))(*[one.data_ptr() if one is not None else 0 for one in value]))
    return value


@cache
def _pointers(count: int) -> type[ctypes.Array[ctypes.c_void_p]]:
    return ctypes.c_void_p * count
