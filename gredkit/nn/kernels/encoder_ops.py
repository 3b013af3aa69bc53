"""Encoders as differentiable functions: from the rows of sets to what nodes read, in one step of autograd."""

from typing import Any

import torch
from torch import Tensor

from gredkit.nn.kernels import attention as attentions
from gredkit.nn.kernels import recurrent as recurrences
from gredkit.nn.kernels.call import expect, expect_sizes
from gredkit.nn.kernels.index import Index
from gredkit.nn.kernels.ops import contiguous, once
from gredkit.nn.kernels.recurrent import States
from gredkit.nn.kernels.shapes import Weights, columns, padded, rows
from gredkit.nn.kernels.steps import linear, linear_backward


def recurrent(kind: str, z: Tensor, states: States, weights: Weights) -> Tensor:
    """W_out s + b_out, where s is the last state of an RNN, LSTM or GRU over each node's sequence.

    Shape: z [sets, d] -> [nodes, d]

    weights: W_ih [gates n, d], W_hh [gates n, n], b_ih and b_hh as in PyTorch's networks, W_out [d, n] and b_out
    """
    return _Recurrent.apply(kind, z, states, torch.is_grad_enabled(), *weights)


def attention(heads: int, z: Tensor, index: Index, weights: Weights) -> Tensor:
    """W_o concat_i Σ_k softmax_k(q_i(z_{v,0}) · k_i(z_{v,k}) / √size) v_i(z_{v,k}) + b_o, for heads i.

    Shape: z [sets, d] -> [nodes, d]

    weights: weight and bias of query, key and value [heads size, d], and of W_o [d, heads size]
    """
    return _Attention.apply(heads, z, index, *weights)


class _Recurrent(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, kind: str, z: Tensor, states: States, keep: bool, *weights: Tensor) -> Tensor:
        z, weights = z.contiguous(), contiguous(weights)
        gates, d = recurrences.numbers(kind)[1], columns(z)
        n = rows(weights, 0) // gates
        expect(weights, [(gates * n, d), (gates * n, n), (gates * n,), (gates * n,), (d, n), (d,)])
        into, across, bias, bias_of_state, *out = weights
        inside = bias_of_state[-n:]  # a GRU multiplies this one with its reset gate
        sum_of_biases = bias + bias_of_state
        if kind == "GRU":
            sum_of_biases[-n:] = bias[-n:]
        all_inside = into, sum_of_biases, across, inside
        s, records = recurrences.recurrent(kind, z, all_inside, states, keep)
        ctx.kind, ctx.states = kind, states
        ctx.save_for_backward(z, records, s, *all_inside, *out)
        return linear(s, *out)

    @staticmethod
    @once
    def backward(ctx: Any, into_y: Tensor) -> Any:
        z, records, s, *inside, out, bias_of_out = ctx.saved_tensors
        into_s, *into_out = linear_backward(s, out, bias_of_out, into_y.contiguous())
        into_z, into_into, into_bias, into_across, into_inside = recurrences.recurrent_backward(
            ctx.kind, z, inside, ctx.states, records, into_s
        )
        into_bias_of_state = into_bias.clone()
        if ctx.kind == "GRU":
            into_bias_of_state[-len(into_inside) :] = into_inside
        return None, into_z, None, None, into_into, into_across, into_bias, into_bias_of_state, *into_out


class _Attention(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, heads: int, z: Tensor, index: Index, *weights: Tensor) -> Tensor:
        z, weights = z.contiguous(), contiguous(weights)
        expect_sizes(heads=heads)
        inner, d = rows(weights, 0), columns(z)
        if inner % heads:
            raise ValueError(f"{heads} heads do not divide {inner} rows of weights")
        expect(weights, [*3 * [(inner, d), (inner,)], (d, inner), (d,)])
        scale, bias_of_out = (inner // heads) ** -0.5, weights[7]
        inside, biases = (_heads_last(torch.stack(weights[i:6:2]), heads) for i in (0, 1))
        inside[0] *= scale
        biases[0] *= scale
        out = _heads_last(weights[6], heads)
        of_nodes = z.index_select(0, index.targets)
        q, kv = linear(of_nodes, inside[0], biases[0]), linear(z, inside[1:].flatten(0, 1), biases[1:].flatten())
        read, p = attentions.attention(padded(heads), q, kv, index)
        ctx.heads, ctx.index, ctx.scale = heads, index, scale
        ctx.save_for_backward(z, of_nodes, inside, biases, q, kv, p, read, out, bias_of_out)
        return linear(read, out, bias_of_out)

    @staticmethod
    @once
    def backward(ctx: Any, into_y: Tensor) -> Any:
        z, of_nodes, inside, biases, q, kv, p, read, out, bias_of_out = ctx.saved_tensors
        heads, index = ctx.heads, ctx.index
        into_read, into_out, into_bias_of_out = linear_backward(read, out, bias_of_out, into_y.contiguous())
        into_q, into_kv = attentions.attention_backward(padded(heads), q, kv, index, p, into_read)
        into_nodes, *of_q = linear_backward(of_nodes, inside[0], biases[0], into_q)
        into_z, *of_kv = linear_backward(z, inside[1:].flatten(0, 1), biases[1:].flatten(), into_kv)
        into_z.index_add_(0, index.targets, into_nodes)
        into_inside, into_biases = (
            _heads_first(torch.stack((ctx.scale * one, *two.chunk(2))), heads)
            for one, two in zip(of_q, of_kv, strict=True)
        )
        both = (one for pair in zip(into_inside, into_biases, strict=True) for one in pair)
        return None, into_z, None, *both, _heads_first(into_out, heads), into_bias_of_out


def _heads_last(one: Tensor, heads: int) -> Tensor:
    """[n, heads size, ...] in the order of the kernels: [n, size padded heads, ...], with zeros for added heads."""
    some = one.unflatten(1, (heads, -1)).transpose(1, 2)
    if more := padded(heads) - heads:
        some = torch.cat([some, some.new_zeros(*some.shape[:2], more, *some.shape[3:])], 2)
    return some.flatten(1, 2).contiguous()


def _heads_first(one: Tensor, heads: int) -> Tensor:
    """The reverse of `_heads_last`."""
    return one.unflatten(1, (-1, padded(heads)))[:, :, :heads].transpose(1, 2).flatten(1, 2)
