"""A parallel scan: all states of a linear recurrence in logarithmic depth; and the last state alone, without a scan."""

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from gredkit.nn.kernels.usable import is_transformed


def linear_scan(a: Tensor, b: Tensor, reverse: bool = False) -> Tensor:
    """All states of the recurrence s_t = a_t * s_{t-1} + b_t with s_{-1} = 0.

    Depth O(log T), work O(T). Real or complex; `a` is broadcast against `b`. With `reverse` the recurrence
    runs from the end: s_t = a_t * s_{t+1} + b_t.
    Shape: a [..., T or 1, d], b [..., T, d] -> [..., T, d]
    """
    dtype = torch.promote_types(a.dtype, b.dtype)
    a, b = a.to(dtype), b.to(dtype)
    a = a.reshape((1,) * (b.dim() - a.dim()) + a.shape)
    b = b.expand(torch.broadcast_shapes(a.shape, b.shape))
    if b.shape[-2] == 0:
        return b
    scan = _states if is_transformed() else _Scan.apply
    return scan(a.flip(-2), b.flip(-2)).flip(-2) if reverse else scan(a, b)


def last_state(log_a: Tensor, b: Tensor) -> Tensor:
    """s_0 of the recurrence s_k = a_k * s_{k+1} + b_k for 0 < a_k <= 1, which runs from the end and starts at zero.

    What is read at place 0 needs no scan: s_0 = Σ_k exp(Σ_{j<k} log a_j) b_k. No exponent is above 0 and none is a
    difference, so nothing overflows or cancels, and a decay of zero has the gradient zero.
    Shape: log_a [..., T, d], b [..., T, d] -> [..., d]
    """
    return (before(log_a).exp() * b).sum(-2)


def before(x: Tensor) -> Tensor:
    """The sum of all earlier places: Σ_{j<k} x_j. Shape: [..., T, d] -> [..., T, d]"""
    return F.pad(x[..., :-1, :].cumsum(-2), (0, 0, 1, 0)) if x.shape[-2] else x


class _Scan(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, a: Tensor, b: Tensor) -> Tensor:
        states = _states(a, b)
        ctx.save_for_backward(a, states)
        return states

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        # With g_t the gradient of s_t and G_t that of b_t:  G_t = g_t + conj(a_{t+1}) G_{t+1},
        # which is the same recurrence from the end; the gradient of a_t is G_t conj(s_{t-1}).
        a, states = ctx.saved_tensors
        later = a if a.shape[-2] == 1 else torch.cat([a[..., 1:, :], torch.zeros_like(a[..., :1, :])], -2)
        into_b = linear_scan(later.conj(), grad, reverse=True)
        into_a = None
        if ctx.needs_input_grad[0]:
            before = torch.cat([torch.zeros_like(states[..., :1, :]), states[..., :-1, :]], -2)
            into_a = (into_b * before.conj()).sum_to_size(a.shape)
        return into_a, into_b


def _states(a: Tensor, b: Tensor) -> Tensor:
    """Merge neighbours in pairs, scan the sequence of half the length, then fill in the states between."""
    length = b.shape[-2]
    if length == 1:
        return b.clone()
    pairs = length // 2
    odd = slice(1, 2 * pairs, 2)
    constant = a.shape[-2] == 1
    a_odd = a if constant else a[..., odd, :]
    a_even = a if constant else a[..., 0 : 2 * pairs : 2, :]
    at_odd = _states(a_odd * a_even, a_odd * b[..., 0 : 2 * pairs : 2, :] + b[..., odd, :])
    states = torch.empty_like(b)
    states[..., odd, :] = at_odd
    states[..., 0, :] = b[..., 0, :]
    rest = (length - 1) // 2
    a_rest = a if constant else a[..., 2::2, :]
    states[..., 2::2, :] = a_rest * at_odd[..., :rest, :] + b[..., 2::2, :]
    return states
