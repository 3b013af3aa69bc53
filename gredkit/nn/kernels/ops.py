"""The kernels as differentiable functions of tensors."""

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, NamedTuple, Protocol

import torch
from torch import Tensor

from gredkit.nn.kernels import stack, steps
from gredkit.nn.kernels.encoders import Encoder
from gredkit.nn.kernels.index import Index, Sums
from gredkit.nn.kernels.shapes import Weights
from gredkit.nn.kernels.stack import Layers
from gredkit.nn.kernels.steps import Dropout


def set_sum(x: Tensor, sums: Sums) -> Tensor:
    """The sum of the listed rows of x, without a gradient. Shape: x [columns, d] -> [rows, d]"""
    return steps.set_sum(x.contiguous(), sums)


def set_mlp(a: Tensor, index: Index, weights: Weights, gelu: str, eps: float) -> tuple[Tensor, Tensor]:
    """x = a + W2 gelu(W1 LN(a) + b1) + b2 for each set; returns z = LN(x), and x at the targets.

    Shape: a [sets, d] -> z [sets, d], x [nodes, d]

    weights: weight and bias of the first norm, W1, b1, W2, b2, weight and bias of the second norm
    """
    return _SetMLP.apply(a, index, gelu, eps, torch.is_grad_enabled(), *weights)


def hop_filter(z: Tensor, matrices: Tensor, index: Index) -> Tensor:
    """y_v = Σ_k z_{v,k} M_k. Shape: z [sets, d], matrices [width, d, d] -> [nodes, d]"""
    return _HopFilter.apply(z, matrices, index)


def hop_scan(u: Tensor, eigenvalues: Tensor, index: Index) -> Tensor:
    """s_v = Σ_k Λ^k u_{v,k}; rows hold real parts, then imaginary parts; `eigenvalues` are both parts of Λ.

    Shape: u [sets, 2 n], eigenvalues [2, n] -> [nodes, 2 n]
    """
    return _HopScan.apply(u, eigenvalues, index)


def hop_matrices(width: int, *recurrence: Tensor) -> Tensor:
    """Re[W_out Λ^k exp(γ) W_in], transposed, for k = 0..width - 1, from ν, θ, γ and both parts of W_in and W_out.

    Shape: three of [n], W_in [n, d] twice, W_out [d, n] twice -> [width, d, d]
    """
    return _HopMatrices.apply(width, *recurrence)


def for_each_state(recurrence: Weights) -> Weights:
    """The weights of an LRU, with ν and θ of every state if all states share them."""
    states = len(recurrence[2])  # as many as γ has
    return [*(one.expand(states) for one in recurrence[:2]), *recurrence[2:]]


def gate(y: Tensor, x: Tensor, weights: Weights, gelu: str, dropout: float) -> Tensor:
    """drop(value(t) ⊙ σ(gate(t))) + x with t = drop(gelu(y)).

    Shape: y [nodes, d], x [nodes, d] -> [nodes, d]

    weights: weight and bias of value and gate, or only of the gate, then value(t) = t
    """
    return _Gate.apply(y, x, gelu, Dropout.of(dropout), torch.is_grad_enabled(), *weights)


class LayerWeights(NamedTuple):
    """The weights of a layer (without its aggregator), in the form that these functions take."""

    mlp: Weights
    encoder: Weights
    glu: Weights

    @property
    def all(self) -> tuple[Tensor, ...]:
        return *self.mlp, *self.encoder, *self.glu


class Matrix(Protocol):
    """A sparse matrix that says which rows are summed, and its transpose."""

    @property
    def sums(self) -> Sums: ...

    @property
    def transposed(self) -> "Matrix": ...


def layers(
    x: Tensor, index: Index, sets: Matrix | None, encoder: Encoder, weights: Sequence[LayerWeights],
    gelu: str, eps: float, dropout: float,
) -> Tensor:  # fmt: skip
    """A stack of layers in one call: sums over `sets`, `set_mlp`, the encoder, and `gate`.

    Shape: x [nodes, d], or [sets, d] without `sets` -> [nodes, d]

    sets: which nodes are in which set; None for a single layer whose input x already holds the sums
    """
    of = Layers(encoder, gelu, eps, Dropout.of(dropout, len(weights)))
    return _Layers.apply(x, index, sets, of, torch.is_grad_enabled(), *(one for layer in weights for one in layer.all))


def once(backward: Callable[..., Any]) -> Callable[..., Any]:
    """Make a backward pass refuse to be differentiated: a second derivative would ignore the kernels."""

    @wraps(backward)
    def checked(ctx: Any, *into: Tensor) -> Any:
        if torch.is_grad_enabled():  # this is the effect of `create_graph=True`
            raise RuntimeError(
                "the kernels have no second derivative: compute value and gradient inside "
                "`with gredkit.without_kernels():`, or set GREDKIT_KERNELS=0"
            )
        return backward(ctx, *into)

    return checked


class _SetMLP(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, a: Tensor, index: Index, gelu: str, eps: float, keep: bool, *weights: Tensor) -> Any:
        a, weights = a.contiguous(), contiguous(weights)
        z, x, *kept = steps.set_mlp(a, index, weights, gelu, eps, keep)
        ctx.gelu, ctx.index = gelu, index
        ctx.save_for_backward(a, x, *kept, *weights)
        at_targets = x.index_select(0, index.targets) if keep else x
        return z, at_targets[:, : a.shape[1]].contiguous()

    @staticmethod
    @once
    def backward(ctx: Any, into_z: Tensor, into_x: Tensor) -> Any:
        a, x, stats, u, *weights = ctx.saved_tensors
        into = like(weights)
        into_a = steps.set_mlp_backward(
            ctx.gelu, a, weights, (x, stats, u), ctx.index, into_z.contiguous(), into_x.contiguous(), into
        )
        return into_a, None, None, None, None, *into


class _HopFilter(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, z: Tensor, matrices: Tensor, index: Index) -> Tensor:
        z, matrices = z.contiguous(), matrices.contiguous()
        ctx.index = index
        ctx.save_for_backward(z, matrices)
        return steps.hop_filter(z, matrices, index)

    @staticmethod
    @once
    def backward(ctx: Any, into_y: Tensor) -> Any:
        z, matrices = ctx.saved_tensors
        into = steps.hop_filter_backward(z, matrices, ctx.index, into_y.contiguous())
        return *into, None


class _HopScan(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, u: Tensor, eigenvalues: Tensor, index: Index) -> Tensor:
        u, (re, im) = u.contiguous(), eigenvalues.contiguous()
        ctx.index = index
        ctx.save_for_backward(u, re, im)
        return steps.hop_scan(u, re, im, index)

    @staticmethod
    @once
    def backward(ctx: Any, into_s: Tensor) -> Any:
        u, re, im = ctx.saved_tensors
        into = steps.hop_scan_backward(u, re, im, ctx.index, into_s.contiguous())
        return *into, None


class _HopMatrices(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, width: int, *recurrence: Tensor) -> Tensor:
        recurrence = contiguous(recurrence)
        ctx.save_for_backward(*recurrence)
        return steps.hop_matrices(width, recurrence)

    @staticmethod
    @once
    def backward(ctx: Any, into_matrices: Tensor) -> Any:
        recurrence = ctx.saved_tensors
        into = like(recurrence)
        steps.hop_matrices_backward(recurrence, into_matrices.contiguous(), into)
        return None, *into


class _Gate(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, y: Tensor, x: Tensor, gelu: str, dropout: Dropout, keep: bool, *weights: Tensor) -> Tensor:
        y, weights = y.contiguous(), contiguous(weights)
        h, pre = steps.gate(y, x.contiguous(), weights, gelu, dropout, keep)
        ctx.gelu, ctx.dropout = gelu, dropout
        ctx.save_for_backward(y, pre, *weights)
        return h

    @staticmethod
    @once
    def backward(ctx: Any, into_h: Tensor) -> Any:
        y, pre, *weights = ctx.saved_tensors
        into, into_h = like(weights), into_h.contiguous()
        into_y = steps.gate_backward(y, weights, ctx.gelu, ctx.dropout, pre, into_h, into)
        return into_y, into_h, None, None, None, *into


class _Layers(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, x: Tensor, index: Index, sets: Matrix | None, of: Layers, keep: bool, *weights: Tensor
    ) -> Tensor:
        x, weights = x.contiguous(), contiguous(weights)
        sums = None if sets is None else sets.sums
        h, kept = stack.layers(of, index, sums, _by_layer(weights, of), x, keep)
        ctx.of, ctx.index, ctx.sets, ctx.count = of, index, sets, len(weights)
        ctx.save_for_backward(*weights, x, *kept)
        return h

    @staticmethod
    @once
    def backward(ctx: Any, into_h: Tensor) -> Any:
        saved = ctx.saved_tensors
        weights, (x, *kept) = saved[: ctx.count], saved[ctx.count :]
        into = like(weights)
        sums, back = (None, None) if ctx.sets is None else (ctx.sets.sums, ctx.sets.transposed.sums)
        into_x = stack.layers_backward(
            ctx.of, ctx.index, sums, back, _by_layer(weights, ctx.of), x, kept, into_h.contiguous(),
            _by_layer(into, ctx.of),
        )  # fmt: skip
        return into_x, None, None, None, None, *into


def _by_layer(weights: Weights, of: Layers) -> list[Weights]:
    each = len(weights) // max(len(of.dropout.seeds), 1)
    return [weights[i : i + each] for i in range(0, len(weights), each)] if each else []


def contiguous(weights: Sequence[Tensor]) -> tuple[Tensor, ...]:
    return tuple(weight if weight.is_contiguous() else weight.contiguous() for weight in weights)


def like(weights: Weights) -> list[Tensor]:
    """Memory for the gradients of the weights: parts of one contiguous block."""
    sizes = [weight.numel() for weight in weights]
    parts = weights[0].new_empty(sum(sizes)).split(sizes)
    return [part if weight.dim() == 1 else part.view(weight.shape) for part, weight in zip(parts, weights, strict=True)]
