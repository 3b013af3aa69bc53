"""All layers of a stack by few PyTorch operations, with a backward pass of their own.

On a GPU a step over small graphs costs launches, not arithmetic. So what depends on parameters alone is computed for
all layers at once, and so are the gradients of the weights; what is left for each layer are 12 operations in the
forward and 13 in the backward pass, and one less in each where places have sets of their own. (A half gate takes a few
more.) This is the same function as the modules of `gredkit.nn.layer`; `gredkit.nn.kernels.choice` decides when it is
used.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn import functional as F

from gredkit.nn.hop_matrices import HopMatrices, hop_matrices
from gredkit.nn.stack_index import StackIndex
from gredkit.nn.stacked_weights import DROPPED, Gates, Stacks, Weights, scale_value

aten = torch.ops.aten
MOST_AT_ONCE = 2**25  # numbers in one gradient of all layers; above that, each layer multiplies its own


class Common(NamedTuple):
    """What all layers have in common."""

    where: StackIndex
    depth: int
    gelu: str
    eps: float
    dropout: float
    keep: bool  # whether there will be a backward pass


def stacked(of: Common, h: Tensor, weights: Sequence[Sequence[Tensor]]) -> Tensor:
    """All layers, each with the weights that the table in `gredkit.nn.kernels.known` lists.

    Shape: h [nodes, d] -> [nodes, d]
    """
    return _Stacked.apply(of, h, *(one for layer in weights for one in layer))


class _Rooms:
    """One tensor for all layers, or one for each in turn if that would be too large."""

    def __init__(self, like: Tensor, layers: int, *shapes: tuple[int, ...]):
        self.rooms = [like.new_empty(layers, *shape) for shape in shapes]
        self.layers = layers

    def __getitem__(self, layer: int) -> list[Tensor]:
        return [room[layer % self.layers] for room in self.rooms]


class _Stacked(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, of: Common, h: Tensor, *flat: Tensor) -> Tensor:
        layers = Weights.each(flat, of.depth)
        index, (nodes, d) = of.where, h.shape
        sets, m, width = index.sets.num_rows, len(layers[0].up), index.width
        stacks = Stacks.of(layers)
        hops = HopMatrices.of(stacks.rates, stacks.into, stacks.out, index.places, index.signs)
        gates = Gates.of(stacks.gate, stacks.gate_bias, of.dropout, nodes)
        rooms = _Rooms(
            h, of.depth if of.keep else 1,
            (sets + nodes, d), (sets, m), (sets, m), (nodes, d), *([(nodes * width, d)] if index.grid else []),
        )  # fmt: skip
        kept: list[Tensor] = []
        a = index.sets.product(h)
        for i, one in enumerate(layers):
            written, u, g, read, *looked_up = rooms[i]
            n, *first = torch.native_layer_norm(a, [d], one.norm, one.norm_bias, of.eps)
            torch.addmm(one.up_bias, n, one.up.mT, out=u)
            aten.gelu.out(u, approximate=of.gelu, out=g)
            x = torch.add(a, torch.addmm(one.down_bias, g, one.down.mT), out=written[:sets])
            z, *last = torch.native_layer_norm(x, [d], one.last_norm, one.last_norm_bias, of.eps)
            if index.grid:
                index.grid.product_into(looked_up[0], z)
                z = looked_up[0]
            y, gated = gates.added[i].split([d, gates.forms * d], 1)
            y.addmm_(z.view(nodes, width * d), hops.matrices[i])  # in its place: otherwise a GPU copies it first
            aten.gelu.out(y, approximate=of.gelu, out=read)
            gated.addmm_(read, gates.weight[i].mT, alpha=gates.left)
            gated = torch.cat([read, gated], 1) if gates.forms == 1 else gated
            aten.glu.out(gated, 1, out=written[sets:])
            if gates.forms == 1 and gates.left != 1.0:
                written[sets:].mul_(gates.left**2)
            if of.keep:
                kept += [a, n, z, y, gated, *first, *last]
            if i + 1 < of.depth:
                a = index.sums.product(written)
        if of.keep:
            ctx.of, ctx.forms, ctx.left = of, gates.forms, gates.left
            ctx.save_for_backward(h, gates.weight, stacks.into, gates.added, *hops, *rooms.rooms, *kept, *flat)
        return index.written.product(written)

    @staticmethod
    def backward(ctx: Any, into: Tensor) -> Any:
        of: Common = ctx.of
        h, gate_weight, into_state, added, *saved = ctx.saved_tensors
        fields = len(HopMatrices._fields)
        hops, saved = HopMatrices(*saved[:fields]), saved[fields:]
        rooms = 5 if of.where.grid else 4
        (written, u, g, read, *looked_up), saved = saved[:rooms], saved[rooms:]
        kept, flat = saved[: 9 * of.depth], saved[9 * of.depth :]
        if torch.is_grad_enabled():  # this is the effect of `create_graph=True`
            return None, *_differentiable(of, [h, *flat], added, ctx.left, into)
        layers = Weights.each(flat, of.depth)
        index, (nodes, d) = of.where, h.shape
        sets, m = index.sets.num_rows, len(layers[0].up)
        at_once = of.depth if of.depth * sets * max(m, d) <= MOST_AT_ONCE else 1
        gradients = _Rooms(h, at_once, (sets, m), (nodes, d), (nodes, 2 * d))
        norms: list[list[Tensor]] = []
        waiting: list[list[Tensor]] = []  # n, the gradient of x and z, of layers whose products are still to do
        products: list[list[Tensor]] = []
        for i in reversed(range(of.depth)):
            one = layers[i]
            a, n, z, y, gated, mean, rstd, last_mean, last_rstd = kept[9 * i : 9 * i + 9]
            into_u, into_y, into_gated = gradients[i]
            from_gate = into * ctx.left**2 if ctx.forms == 1 and ctx.left != 1.0 else into
            aten.glu_backward.grad_input(from_gate, gated, 1, grad_input=into_gated)
            into_read = torch.empty_like(into) if ctx.forms == 2 else into_gated[:, :d]
            into_read.addmm_(into_gated[:, -ctx.forms * d :], gate_weight[i], alpha=ctx.left, beta=2 - ctx.forms)
            aten.gelu_backward.grad_input(into_read, y, approximate=of.gelu, grad_input=into_y)
            into_z = (into_y @ hops.matrices[i].mT).view(-1, d)
            into_z = index.grid.transposed.product(into_z) if index.grid else into_z
            into_x, *of_last_norm = aten.native_layer_norm_backward(
                into_z, written[i, :sets], [d], last_mean, last_rstd, one.last_norm, one.last_norm_bias, [True] * 3
            )
            into_x.index_add_(0, index.targets.columns, into)
            aten.gelu_backward.grad_input(into_x @ one.down, u[i], approximate=of.gelu, grad_input=into_u)
            into_a, *of_norm = aten.native_layer_norm_backward(
                into_u @ one.up, a, [d], mean, rstd, one.norm, one.norm_bias, [True] * 3
            )
            into = index.sets.transposed.product(into_a.add_(into_x))
            norms.insert(0, [*of_norm, *of_last_norm])
            waiting.insert(0, [n, into_x, *([] if looked_up else [z])])
            if len(waiting) == at_once:
                these = slice(i, i + at_once)
                kinds = [one for kind in zip(*waiting, strict=True) for one in kind]
                ns, xs, *zs = torch.stack(kinds).view(-1, at_once, sets, d)
                rows = (zs[0] if zs else looked_up[0][these]).view(at_once, nodes, -1)
                us, ys, gated_of = gradients.rooms
                gated_of = gated_of[..., -ctx.forms * d :]
                products.insert(0, [
                    torch.bmm(us.mT, ns), us.sum(1), torch.bmm(xs.mT, g[these]), xs.sum(1),
                    torch.baddbmm(gate_weight[these], gated_of.mT, read[these], beta=0, alpha=ctx.left),
                    gated_of.sum(1), torch.bmm(rows.mT, ys),
                ])  # fmt: skip
                waiting = []
        up, up_bias, down, down_bias, gate, gate_bias, matrices = (
            torch.cat(kind) if len(kind) > 1 else kind[0] for kind in zip(*products, strict=True)
        )
        for of_gate in (gate, gate_bias):
            scale_value(of_gate, ctx.forms, ctx.left)
        recurrences = hops.backward(matrices, into_state, shared=len(layers[0].recurrence[0]) == 1)
        each = zip(norms, up, up_bias, down, down_bias, recurrences, gate, gate_bias, strict=True)
        by_layer = (
            (*norm[:2], *mlp, *norm[2:], *recurrence, *_alternating(weight.split(d), bias.split(d)))
            for norm, *mlp, recurrence, weight, bias in each
        )
        return None, into, *(one for layer in by_layer for one in layer)


def _alternating(weights: Sequence[Tensor], biases: Sequence[Tensor]) -> list[Tensor]:
    return [one for pair in zip(weights, biases, strict=True) for one in pair]


def _differentiable(
    of: Common, inputs: Sequence[Tensor], added: Tensor, left: float, into: Tensor
) -> list[Tensor | None]:
    """The gradients as functions of the inputs, which PyTorch can differentiate; what was dropped stays dropped."""
    with torch.enable_grad():
        each = [one.view_as(one) if one.requires_grad else one for one in inputs]  # layers may share their weights
        d = into.shape[1]
        kept = [(one > DROPPED / 2).to(into.dtype) * left for one in (added[..., :d], added[..., -d:])]
        out = _as_written(of, each[0], Weights.each(each[1:], of.depth), kept)
        wanted = [one for one in each if one.requires_grad]
        found = iter(torch.autograd.grad(out, wanted, into, create_graph=True, allow_unused=True))
    return [next(found) if one.requires_grad else None for one in each]


def _as_written(of: Common, h: Tensor, layers: Sequence[Weights], kept: Sequence[Tensor]) -> Tensor:
    """The layers by operations that PyTorch differentiates.

    Shape: kept, the two masks with their scale, [layers, nodes, d] -> [nodes, d]
    """
    index = of.where
    for i, one in enumerate(layers):
        a = index.sets.sum(h)
        n = F.layer_norm(a, a.shape[1:], one.norm, one.norm_bias, of.eps)
        x = a + F.linear(F.gelu(F.linear(n, one.up, one.up_bias), approximate=of.gelu), one.down, one.down_bias)
        z = F.layer_norm(x, a.shape[1:], one.last_norm, one.last_norm_bias, of.eps)
        rows = (index.grid.sum(z) if index.grid else z).view(len(h), -1)
        nu, theta, *others = one.recurrence
        matrices = hop_matrices(index.width, nu.exp(), theta.exp(), *others).flatten(0, 1)
        read = F.gelu(rows @ matrices, approximate=of.gelu) * kept[0][i]
        *value, weight, bias = one.glu
        y = (F.linear(read, *value) if value else read) * F.linear(read, weight, bias).sigmoid() * kept[1][i]
        h = y + index.targets.sum(x)
    return h
