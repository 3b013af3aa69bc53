"""The kernels as differentiable functions of tensors."""

import ctypes
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from gredkit.kernels.build import library

WIDE = 8  # columns to which the kernels pad what they keep
GELU = {"none": 0, "tanh": 1}

Weights = tuple[Tensor, ...]


def can_fuse(*tensors: Tensor) -> bool:
    """Whether the kernels can be used: float32 on a CPU, outside of what rewrites or traces a model."""
    return (
        not torch.compiler.is_compiling()
        and all(tensor.device.type == "cpu" and tensor.dtype == torch.float32 for tensor in tensors)
        and not torch.is_autocast_enabled("cpu")
        and library() is not None
    )


def set_sum(x: Tensor, start: Tensor, columns: Tensor) -> Tensor:
    """The sum of the listed rows of x, without a gradient. Shape: x [..., d], start [rows + 1] -> [rows, d]"""
    out = x.new_empty(len(start) - 1, x.shape[1])
    _call("set_sum", len(out), x.shape[1], start, columns, x.contiguous(), out)
    return out


def set_mlp(a: Tensor, targets: Tensor, node: Tensor, weights: Weights, gelu: str, eps: float) -> tuple[Tensor, Tensor]:
    """x = a + W2 gelu(W1 LN(a) + b1) + b2 for each set; its norm z = LN(x), and x at the targets.

    `weights` are LN's weight and bias, W1, b1, W2, b2, and the weight and bias of the second norm. `node` has the
    target of a row, or -1.
    Shape: a [sets, d], targets [nodes], node [sets] -> z [sets, d], x [nodes, d]
    """
    return _SetMLP.apply(a, targets, node, GELU[gelu], eps, torch.is_grad_enabled(), *weights)


def hop_filter(z: Tensor, matrices: Tensor, start: Tensor, sets: Tensor, cuts: Tensor) -> Tensor:
    """y_v = Σ_k z_{v,k} M_k. Shape: z [sets, d], matrices [width, d, d], start [nodes + 1] -> [nodes, d]

    The last set is the empty one. `cuts` are nodes between which no other set is shared, the first and last included.
    """
    return _HopFilter.apply(z, matrices, start, sets, cuts)


def hop_scan(u: Tensor, eigenvalues: Tensor, start: Tensor, sets: Tensor, cuts: Tensor) -> Tensor:
    """s_v = Σ_k Λ^k u_{v,k}, real parts before imaginary ones.

    `eigenvalues` are the real and the imaginary parts; the rest is as for the hop filter.
    Shape: u [sets, 2 n], eigenvalues [2, n], start [nodes + 1] -> [nodes, 2 n]
    """
    return _HopScan.apply(u, eigenvalues, start, sets, cuts)


def hop_matrices(width: int, *recurrence: Tensor) -> Tensor:
    """Re[W_out Λ^k exp(γ) W_in] for k = 0..width - 1, transposed, of -log|Λ|, its phase, γ, and both parts of both W.

    Shape: three of [n], W_in [n, d] twice, W_out [d, n] twice -> [width, d, d]
    """
    return _HopMatrices.apply(width, *recurrence)


def gate(y: Tensor, x: Tensor, weights: Weights, gelu: str, dropout: float) -> Tensor:
    """drop(value(t) ⊙ σ(gate(t))) + x with t = drop(gelu(y)).

    `weights` are weight and bias of value and gate, or of the gate alone: then value(t) = t.
    Shape: y [nodes, d], x [nodes, d] -> [nodes, d]
    """
    seed = int(torch.randint(2**32, (), dtype=torch.int64)) if dropout else 0
    return _Gate.apply(y, x, GELU[gelu], dropout, seed, *weights)


class _SetMLP(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, a: Tensor, targets: Tensor, node: Tensor, gelu: int, eps: float, keep: bool, *weights: Tensor
    ) -> Any:
        a, weights = a.contiguous(), tuple(weight.contiguous() for weight in weights)
        (rows, d), m = a.shape, len(weights[2])
        x, stats, z = a.new_empty(rows, _padded(d)), a.new_empty(rows, 4), torch.empty_like(a)
        u = a.new_empty(rows, _padded(m)) if keep else None
        _call("set_mlp_forward", rows, d, m, gelu, eps, a, weights, u, x, stats, z)
        ctx.gelu = gelu
        ctx.save_for_backward(a, node, u, x, stats, *weights)
        at_targets = x.index_select(0, targets)
        return z, at_targets if x.shape == a.shape else at_targets[:, :d].contiguous()

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, into_z: Tensor, into_x: Tensor) -> Any:
        a, node, u, x, stats, *weights = ctx.saved_tensors
        (rows, d), m = a.shape, len(weights[2])
        into_a, into_weights = torch.empty_like(a), tuple(map(torch.empty_like, weights))
        _call("set_mlp_backward", rows, d, m, ctx.gelu, a, tuple(weights), u, x, stats, into_z.contiguous(),
              into_x.contiguous(), node, into_a, into_weights)  # fmt: skip
        return into_a, None, None, None, None, None, *into_weights


class _HopFilter(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, z: Tensor, matrices: Tensor, start: Tensor, sets: Tensor, cuts: Tensor) -> Tensor:
        z, matrices = z.contiguous(), matrices.contiguous()
        y = z.new_empty(len(start) - 1, z.shape[1])
        ctx.save_for_backward(z, matrices, start, sets, cuts)
        _call("hop_filter_forward", len(y), z.shape[1], len(matrices), start, sets, z, matrices, y)
        return y

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, into_y: Tensor) -> Any:
        z, matrices, start, sets, cuts = ctx.saved_tensors
        into_z, into_matrices = torch.empty_like(z), torch.empty_like(matrices)
        _call("hop_filter_backward", len(into_y), z.shape[1], len(matrices), len(z), start, sets, len(cuts) - 1, cuts,
              z, matrices, into_y.contiguous(), into_z, into_matrices)  # fmt: skip
        return into_z, into_matrices, None, None, None


class _HopScan(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, u: Tensor, eigenvalues: Tensor, start: Tensor, sets: Tensor, cuts: Tensor) -> Tensor:
        u, (re, im) = u.contiguous(), eigenvalues.contiguous()
        s = u.new_empty(len(start) - 1, u.shape[1])
        ctx.save_for_backward(u, re, im, start, sets, cuts)
        _call("hop_scan_forward", len(s), len(re), start, sets, u, re, im, s)
        return s

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, into_s: Tensor) -> Any:
        u, re, im, start, sets, cuts = ctx.saved_tensors
        into_u, into_eigenvalues = torch.empty_like(u), re.new_empty(2, len(re))
        _call("hop_scan_backward", len(into_s), len(re), len(u), start, sets, len(cuts) - 1, cuts, u, re, im,
              into_s.contiguous(), into_u, into_eigenvalues)  # fmt: skip
        return into_u, into_eigenvalues, None, None, None


class _HopMatrices(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, width: int, *recurrence: Tensor) -> Tensor:
        recurrence = tuple(one.contiguous() for one in recurrence)
        states, dim = recurrence[3].shape
        matrices = recurrence[3].new_empty(width, dim, dim)
        _call("hop_matrices_forward", states, dim, width, recurrence, matrices)
        ctx.save_for_backward(*recurrence)
        return matrices

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, into_matrices: Tensor) -> Any:
        recurrence = ctx.saved_tensors
        into = tuple(map(torch.empty_like, recurrence))
        (states, dim), width = recurrence[3].shape, len(into_matrices)
        _call("hop_matrices_backward", states, dim, width, recurrence, into_matrices.contiguous(), into)
        return None, *into


class _Gate(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, y: Tensor, x: Tensor, gelu: int, dropout: float, seed: int, *weights: Tensor) -> Tensor:
        y, x, weights = y.contiguous(), x.contiguous(), tuple(weight.contiguous() for weight in weights)
        (nodes, d), padded = y.shape, _padded(y.shape[1])
        t = y.new_empty(nodes, d) if padded == d else y.new_zeros(nodes, padded)
        pre, h = y.new_empty(nodes, 2 * padded), torch.empty_like(y)
        ctx.settings = gelu, round(dropout * 2**32), 1 / (1 - dropout), seed
        _call("gate_forward", nodes, d, *ctx.settings, y, x, _four(weights), t, pre, h)
        ctx.save_for_backward(y, t, pre, *weights)
        return h

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, into_h: Tensor) -> Any:
        y, t, pre, *weights = ctx.saved_tensors
        into_h, into_y, into_weights = into_h.contiguous(), torch.empty_like(y), tuple(map(torch.empty_like, weights))
        _call("gate_backward", *y.shape, *ctx.settings, y, _four(weights), t, pre, into_h, into_y, _four(into_weights))
        return into_y, into_h, None, None, None, *into_weights


def _four(weights: Any) -> tuple[Tensor | None, ...]:
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
    """Tensors become pointers, tuples of tensors structures of pointers."""
    if isinstance(value, Tensor):
        return value.data_ptr()
    if isinstance(value, tuple):
        return ctypes.byref(
            (ctypes.c_void_p * len(value))(*(one.data_ptr() if one is not None else 0 for one in value))
        )
    return value
