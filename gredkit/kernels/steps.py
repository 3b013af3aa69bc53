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

WIDE = 8  # columns to which the kernels pad what they keep

Weights = Sequence[Tensor]


class Index(NamedTuple):
    """The sequences of a batch's nodes, nearest hop first; the last set is the empty one."""

    start: Tensor  # [nodes + 1]
    sets: Tensor  # [rows]
    cuts: Tensor  # nodes between which no set is shared but the empty one, the first and the last included
    targets: Tensor  # [nodes] the set at hop 0
    node: Tensor  # [sets] the node whose hop 0 a set is, or -1


def set_sum(x: Tensor, start: Tensor, columns: Tensor) -> Tensor:
    """The sum of the listed rows of x. Shape: x [..., d], start [rows + 1] -> [rows, d]"""
    out = x.new_empty(len(start) - 1, x.shape[1])
    _call("set_sum", len(out), x.shape[1], start, columns, x, out)
    return out


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


def gate(
    settings: Gate, y: Tensor, x: Tensor, at: Tensor | None, weights: Weights, keep: bool
) -> tuple[Tensor, Tensor | None, Tensor | None]:
    """h, and what is kept: t, and what the gate reads. `at` says which row of x a node has. Shape: y [nodes, d] -> h"""
    (nodes, d), padded = y.shape, _padded(y.shape[1])
    h, t, pre = torch.empty_like(y), None, None
    if keep:
        t = y.new_empty(nodes, d) if padded == d else y.new_zeros(nodes, padded)
        pre = y.new_empty(nodes, 2 * padded)
    _call("gate_forward", nodes, d, *settings, y, x, at, x.shape[1], _four(weights), t, pre, h)
    return h, t, pre


def gate_backward(settings: Gate, y: Tensor, kept: Weights, weights: Weights, into_h: Tensor, into: Weights) -> Tensor:
    into_y = torch.empty_like(y)
    _call("gate_backward", *y.shape, *settings, y, _four(weights), *kept, into_h, into_y, _four(into))
    return into_y


class Layer(NamedTuple):
    """How a layer is computed; its weights are those of the set MLP, of the recurrence and of the gate."""

    hidden: int  # width of the set MLP
    states: int
    width: int  # number of hops
    eps: float
    gate: Gate


def layer(of: Layer, a: Tensor, index: Index, weights: Weights, keep: bool) -> tuple[Tensor, Tensor]:
    """h, and what is kept. Shape: a [sets, d] -> [nodes, d], [...]"""
    found = library()
    assert found is not None
    sizes = len(index.targets), *a.shape, of.hidden, of.states, of.width
    kept = a.new_empty(found.layer_kept(*sizes[:4], of.width, keep))
    h = a.new_empty(sizes[0], sizes[2])
    gelu, *dropout = of.gate
    _call("layer_forward", *sizes, gelu, of.eps, *dropout, keep, index, _with_value(weights), a, kept, h)
    return h, kept


def layer_backward(
    of: Layer, a: Tensor, index: Index, weights: Weights, kept: Tensor, into_h: Tensor, into: Tensor
) -> Tensor:
    """The gradient of a; those of the weights are written to `into`, one behind the other."""
    sizes, into_a = (*into_h.shape, len(a), of.hidden, of.states, of.width), torch.empty_like(a)
    _call("layer_backward", sizes[0], sizes[2], sizes[1], *sizes[3:], *of.gate, index, len(index.cuts) - 1,
          _with_value(weights), a, kept, into_h, into_a, into)  # fmt: skip
    return into_a


def _with_value(weights: Weights) -> Sequence[Tensor | None]:
    """All weights of a layer, None for those of the value in the half form."""
    return weights if len(weights) == 19 else (*weights[:15], None, None, *weights[15:])


def _four(weights: Weights) -> tuple[Tensor | None, ...]:
    """Weight and bias of value and gate; None for those of the value in the half form."""
    return tuple(weights) if len(weights) == 4 else (None, None, *weights)


def _padded(columns: int) -> int:
    return -(-columns // WIDE) * WIDE


def _call(name: str, *arguments: Any) -> None:
    """Call a kernel with as many threads as PyTorch uses."""
    found = library()
    assert found is not None
    getattr(found, name)(torch.get_num_threads(), *map(_as_c, arguments))


def _as_c(value: Any) -> Any:
    """Tensors become pointers, sequences of tensors structures of pointers."""
    if isinstance(value, Tensor):
        return value.data_ptr()
    if isinstance(value, tuple | list):
        return ctypes.byref(_pointers(len(value))(*[one.data_ptr() if one is not None else 0 for one in value]))
    return value


@cache
def _pointers(count: int) -> type[ctypes.Array[ctypes.c_void_p]]:
    return ctypes.c_void_p * count
