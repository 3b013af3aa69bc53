"""All layers of a stack by few PyTorch operations, with a backward pass of their own.

On a GPU a step over small graphs costs launches, not arithmetic. So what depends on parameters alone is computed for
all layers at once, and so are the gradients of the weights; what is left for each layer are 12 operations in the
forward and 13 in the backward pass. This is the same function as the modules of `gredkit.nn.layer`;
`gredkit.nn.kernels.choice` decides when it is used. (A half gate with dropout takes a few more.)
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn import functional as F

from gredkit.nn.hop_index import HopIndex
from gredkit.nn.hop_matrices import HopMatrices, hop_matrices
from gredkit.nn.incidence import Incidence
from gredkit.nn.stacked_weights import DROPPED, Gates, Stacks, Weights, scale_value

aten = torch.ops.aten
MOST_AT_ONCE = 2**25  # numbers in one gradient of all layers; above that, each layer multiplies its own


class Common(NamedTuple):
    """What all layers have in common."""

    sequences: HopIndex
    sets: Incidence
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
        nodes, d = h.shape
        sets, m, width = of.sets.num_rows, len(layers[0].up), of.sequences.width
        stacks = Stacks.of(layers, of.gelu)
        hops = HopMatrices.of(stacks.rates, stacks.into, stacks.out, of.sequences.places, of.sequences.signs)
        gates = Gates.of(stacks.gate, stacks.gate_bias, of.dropout, nodes)
        rooms = _Rooms(
            h, of.depth if of.keep else 1,
            (sets + nodes, d), (sets, m + 1), (sets, m + 1), (nodes * width, d), (nodes, d), (nodes, d), (nodes, 2 * d),
        )  # fmt: skip
        kept: list[Tensor] = []
        a = of.sets.product(h)
        for i, one in enumerate(layers):
            written, u, g, rows, y, read, gated = rooms[i]
            n, *first = torch.native_layer_norm(a, [d], one.norm, one.norm_bias, of.eps)
            torch.addmm(stacks.up_bias[i], n, stacks.up[i].mT, out=u)
            aten.gelu.out(u, approximate=of.gelu, out=g)
            x = torch.addmm(a, g, stacks.down[i], out=written[:sets])
            z, *last = torch.native_layer_norm(x, [d], one.last_norm, one.last_norm_bias, of.eps)
            of.sequences.grid.product_into(rows, z)
            to_gelu, to_gate = gates.added[i].split([d, gates.forms * d], 1)
            torch.addmm(to_gelu, rows.view(nodes, width * d), hops.matrices[i], out=y)
            aten.gelu.out(y, approximate=of.gelu, out=read)  # not into a part of rows: on CPUs that may write elsewhere
            if gates.forms == 1:
                gated[:, :d] = read
            torch.addmm(to_gate, read, gates.weight[i].mT, alpha=gates.left, out=gated[:, -gates.forms * d :])
            aten.glu.out(gated, 1, out=written[sets:])
            if gates.forms == 1 and gates.left != 1.0:
                written[sets:].mul_(gates.left**2)
            if of.keep:
                kept += [a, n, *first, *last]
            if i + 1 < of.depth:
                a = of.sequences.sums_of_written.product(written)
        if of.keep:
            ctx.of, ctx.forms, ctx.left = of, gates.forms, gates.left
            ctx.save_for_backward(h, gates.weight, *stacks[:2], stacks.into, *hops, *rooms.rooms, *kept, *flat)
        return of.sequences.written.product(written)

    @staticmethod
    def backward(ctx: Any, into: Tensor) -> Any:
        of: Common = ctx.of
        h, gate_weight, up_weight, down_weight, recurrent_weight, *saved = ctx.saved_tensors
        fields = len(HopMatrices._fields)
        hops, saved = HopMatrices(*saved[:fields]), saved[fields:]
        (written, u, g, rows, y, read, gated), saved = saved[:7], saved[7:]
        kept, flat = saved[: 6 * of.depth], saved[6 * of.depth :]
        if torch.is_grad_enabled():  # this is the effect of `create_graph=True`
            return None, *_differentiable(of, [h, *flat], y, gated, ctx.left, into)
        layers = Weights.each(flat, of.depth)
        nodes, d = h.shape
        sets, m = of.sets.num_rows, len(layers[0].up)
        at_once = of.depth if of.depth * sets * max(m, d) <= MOST_AT_ONCE else 1
        gradients = _Rooms(h, at_once, (sets, m + 1), (nodes, d), (nodes, 2 * d))
        norms: list[list[Tensor]] = []
        waiting: list[tuple[Tensor, Tensor]] = []  # n and the gradient of x, of layers whose products are still to do
        products: list[list[Tensor]] = []
        for i in reversed(range(of.depth)):
            one = layers[i]
            a, n, mean, rstd, last_mean, last_rstd = kept[6 * i : 6 * i + 6]
            into_u, into_y, into_gated = gradients[i]
            from_gate = into * ctx.left**2 if ctx.forms == 1 and ctx.left != 1.0 else into
            aten.glu_backward.grad_input(from_gate, gated[i], 1, grad_input=into_gated)
            into_read = torch.addmm(
                into_gated[:, :d], into_gated[:, -ctx.forms * d :], gate_weight[i], alpha=ctx.left, beta=2 - ctx.forms
            )
            aten.gelu_backward.grad_input(into_read, y[i], approximate=of.gelu, grad_input=into_y)
            into_z = of.sequences.grid.transposed.product((into_y @ hops.matrices[i].mT).view(-1, d))
            into_x, *of_last_norm = aten.native_layer_norm_backward(
                into_z, written[i, :sets], [d], last_mean, last_rstd, one.last_norm, one.last_norm_bias, [True] * 3
            )
            into_x.index_add_(0, of.sequences.targets.columns, into)
            aten.gelu_backward.grad_input(into_x @ down_weight[i].mT, u[i], approximate=of.gelu, grad_input=into_u)
            into_a, *of_norm = aten.native_layer_norm_backward(
                into_u @ up_weight[i], a, [d], mean, rstd, one.norm, one.norm_bias, [True] * 3
            )
            into = of.sets.transposed.product(into_a.add_(into_x))
            norms.insert(0, [*of_norm, *of_last_norm])
            waiting.insert(0, (n, into_x))
            if len(waiting) == at_once:
                these = slice(i, i + at_once)
                ns, xs = (torch.stack(kind) for kind in zip(*waiting, strict=True))
                us, ys, gated_of = gradients.rooms
                us, gs, gated_of = us[..., :m], g[these, :, :m], gated_of[..., -ctx.forms * d :]
                rows_of = rows[these].view(at_once, nodes, -1)
                products.insert(0, [
                    torch.bmm(us.mT, ns), us.sum(1), torch.bmm(xs.mT, gs), xs.sum(1),
                    torch.baddbmm(gate_weight[these], gated_of.mT, read[these], beta=0, alpha=ctx.left),
                    gated_of.sum(1), torch.bmm(rows_of.mT, ys),
                ])  # fmt: skip
                waiting = []
        up, up_bias, down, down_bias, gate, gate_bias, matrices = (
            torch.cat(kind) if len(kind) > 1 else kind[0] for kind in zip(*products, strict=True)
        )
        for one in (gate, gate_bias):
            scale_value(one, ctx.forms, ctx.left)
        recurrences = hops.backward(matrices, recurrent_weight, shared=len(layers[0].recurrence[0]) == 1)
        each = zip(norms, up, up_bias, down, down_bias, recurrences, gate, gate_bias, strict=True)
        by_layer = (
            (*norm[:2], *mlp, *norm[2:], *recurrence, *_alternating(weight.split(d), bias.split(d)))
            for norm, *mlp, recurrence, weight, bias in each
        )
        return None, into, *(one for layer in by_layer for one in layer)


def _alternating(weights: Sequence[Tensor], biases: Sequence[Tensor]) -> list[Tensor]:
    return [one for pair in zip(weights, biases, strict=True) for one in pair]


def _differentiable(
    of: Common, inputs: Sequence[Tensor], y: Tensor, gated: Tensor, left: float, into: Tensor
) -> list[Tensor | None]:
    """The gradients as functions of the inputs, which PyTorch can differentiate; what was dropped stays dropped."""
    with torch.enable_grad():
        each = [one.view_as(one) if one.requires_grad else one for one in inputs]  # layers may share their weights
        kept = [(one > DROPPED / 2).to(into.dtype) * left for one in (y, gated[:, :, -y.shape[2] :])]
        out = _as_written(of, each[0], Weights.each(each[1:], of.depth), kept)
        wanted = [one for one in each if one.requires_grad]
        found = iter(torch.autograd.grad(out, wanted, into, create_graph=True, allow_unused=True))
    return [next(found) if one.requires_grad else None for one in each]


def _as_written(of: Common, h: Tensor, layers: Sequence[Weights], kept: Sequence[Tensor]) -> Tensor:
    """The layers by operations that PyTorch differentiates.

    Shape: kept, the two masks with their scale, [layers, nodes, d] -> [nodes, d]
    """
    sequences, width = of.sequences, of.sequences.width
    for i, one in enumerate(layers):
        a = of.sets.sum(h)
        n = F.layer_norm(a, a.shape[1:], one.norm, one.norm_bias, of.eps)
        x = a + F.linear(F.gelu(F.linear(n, one.up, one.up_bias), approximate=of.gelu), one.down, one.down_bias)
        z = F.layer_norm(x, a.shape[1:], one.last_norm, one.last_norm_bias, of.eps)
        rows = sequences.grid.sum(z).view(len(h), -1)
        nu, theta, *others = one.recurrence
        matrices = hop_matrices(width, nu.exp(), theta.exp(), *others).flatten(0, 1)
        read = F.gelu(rows @ matrices, approximate=of.gelu) * kept[0][i]
        *value, weight, bias = one.glu
        y = (F.linear(read, *value) if value else read) * F.linear(read, weight, bias).sigmoid() * kept[1][i]
        h = y + sequences.targets.sum(x)
    return h
