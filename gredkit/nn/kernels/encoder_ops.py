"""Encoders as differentiable functions: from the rows of sets to what nodes read, in one step of autograd."""

from typing import Any

import torch
from torch import Tensor

from gredkit.nn.kernels import encoders
from gredkit.nn.kernels.encoders import Encoder
from gredkit.nn.kernels.index import Index
from gredkit.nn.kernels.ops import contiguous, like, once
from gredkit.nn.kernels.shapes import Weights


def encoder(of: Encoder, z: Tensor, index: Index, weights: Weights) -> Tensor:
    """What each node reads.

    RNN, LSTM, GRU: W_out s + b_out, where s is the last state over each node's sequence, farthest hop first.
    Attention: W_o concat_i Σ_k softmax_k(q_i(z_{v,0}) · k_i(z_{v,k}) / √size) v_i(z_{v,k}) + b_o, for heads i.
    Shape: z [sets, d] -> [nodes, d]

    weights: W_ih [gates n, d], W_hh [gates n, n], b_ih and b_hh as in PyTorch's networks, W_out [d, n] and b_out;
    or weight and bias of query, key and value [heads size, d], and of W_o [d, heads size]
    """
    return _Encoder.apply(of, z, index, torch.is_grad_enabled(), *weights)


class _Encoder(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, of: Encoder, z: Tensor, index: Index, keep: bool, *weights: Tensor) -> Tensor:
        z, weights = z.contiguous(), contiguous(weights)
        y, kept = encoders.encoder(of, z, index, weights, keep)
        ctx.of, ctx.index = of, index
        ctx.save_for_backward(z, kept, *weights)
        return y

    @staticmethod
    @once
    def backward(ctx: Any, into_y: Tensor) -> Any:
        z, kept, *weights = ctx.saved_tensors
        into = like(weights)
        into_z = encoders.encoder_backward(ctx.of, z, ctx.index, weights, kept, into_y.contiguous(), into)
        return None, into_z, None, None, *into
