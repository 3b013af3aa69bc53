"""The weights of all layers of a stack, each kind in one tensor, and what dropout adds to them."""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

DROPPED = -1e9  # added to what gelu or a gate reads, it makes the result exactly 0, and its slope too
BITS = 16  # of the random number that decides whether one value is dropped


class Weights(NamedTuple):
    """The weights of one layer."""

    norm: Tensor
    norm_bias: Tensor
    up: Tensor
    up_bias: Tensor
    down: Tensor
    down_bias: Tensor
    last_norm: Tensor
    last_norm_bias: Tensor
    recurrence: tuple[Tensor, ...]  # ν, θ, γ, and both parts of W_in and W_out
    glu: tuple[Tensor, ...]  # weight and bias of the value, which a half gate does not have, and of the gate

    @classmethod
    def each(cls, flat: Sequence[Tensor], depth: int) -> "list[Weights]":
        size = len(flat) // depth
        found = []
        for i in range(0, len(flat), size):
            norm, norm_bias, up, up_bias, down, down_bias, last, last_bias, *rest = flat[i : i + size]
            recurrence, glu = tuple(rest[:7]), tuple(rest[7:])
            found.append(cls(norm, norm_bias, up, up_bias, down, down_bias, last, last_bias, recurrence, glu))
        return found


class Stacks(NamedTuple):
    """Those weights of all layers from which something is computed for all of them at once.

    Shape: d rows, n states, forms of the gate 2 or, of a half gate, 1
    """

    gate: Tensor  # [layers, forms * d, d] value and gate
    gate_bias: Tensor  # [layers, 1 + forms, d] zero, which is what gelu gets, then those of value and gate
    into: Tensor  # [2, layers, n, d] both parts of W_in
    out: Tensor  # [2, layers, n, d] both parts of W_out, transposed
    rates: Tensor  # [4, layers, n] ν, θ, γ and zero

    @classmethod
    def of(cls, layers: Sequence[Weights]) -> "Stacks":
        """Two copies: of all that has rows of width d, and of ν, θ and γ."""
        depth, (n, d), forms = len(layers), layers[0].recurrence[3].shape, len(layers[0].glu) // 2
        zero = layers[0].norm.new_zeros(1)
        none = zero.expand(1, d)
        rows = torch.cat([
            *(row for one in layers for row in one.glu[::2]),
            *(row for one in layers for row in (none, *(bias[None] for bias in one.glu[1::2]))),
            *(one.recurrence[part] for part in (3, 4) for one in layers),
            *(one.recurrence[part].mT for part in (5, 6) for one in layers),
        ])  # fmt: skip
        gate, gate_bias, into, out = rows.split([depth * count for count in (forms * d, 1 + forms, 2 * n, 2 * n)])
        # Where all states share one Λ, its ν and θ have the size 1.
        numbers = [one.recurrence[part].expand(n) for part in range(3) for one in layers]
        rates = torch.cat([*numbers, zero.expand(depth * n)])
        return cls(
            gate.view(depth, forms * d, d), gate_bias.view(depth, 1 + forms, d), into.view(2, depth, n, d),
            out.view(2, depth, n, d), rates.view(4, depth, n),
        )  # fmt: skip


class Gates(NamedTuple):
    """The gates of all layers, with dropout.

    Dropout needs no operation in a layer: masks are part of what is added, and the scale of what is left behind the
    gate is part of the weights of its value. What is left behind gelu is scaled by the product that reads it.
    """

    weight: Tensor  # [layers, forms * d, d]
    added: Tensor  # [layers, nodes, (1 + forms) * d] to what gelu reads, then to what the gate reads
    forms: int  # 2: value and gate; 1: only the gate
    left: float  # 1 / (1 - the share that is dropped)

    @classmethod
    def of(cls, weight: Tensor, bias: Tensor, share: float, nodes: int) -> "Gates":
        """From the two in `Stacks`; with dropout `weight` is overwritten."""
        depth, kinds, d = bias.shape
        bias = bias[:, None].expand(depth, nodes, kinds, d)
        forms = kinds - 1
        if not share:
            return cls(weight, bias.flatten(2).contiguous(), forms, 1.0)
        threshold = min(round(share * 2**BITS), 2**BITS - 1)
        left = 1 / (1 - threshold / 2**BITS)
        added = torch.empty_like(bias, memory_format=torch.contiguous_format)
        masks = added[:, :, ::forms]  # of what gelu reads, and of the gate
        dropped = random(masks.shape, bias.device) < threshold - 2 ** (BITS - 1)
        torch.add(bias[:, :, ::forms], dropped, alpha=DROPPED, out=masks)
        if forms == 2:
            torch.mul(bias[:, :, 1], left, out=added[:, :, 1])
        scale_value(weight, forms, left)
        return cls(weight, added.flatten(2), forms, left)


def scale_value(weight: Tensor, forms: int, left: float) -> None:
    """Multiply what belongs to the value of a gate by the scale of what is left. Shape: [layers, forms * d, ...]"""
    if left != 1.0 and forms == 2:
        weight[:, : weight.shape[1] // 2].mul_(left)


def random(shape: Sequence[int], device: torch.device) -> Tensor:
    """Random numbers of 16 bits: four of each draw, which is several times faster on a CPU than `bernoulli_`."""
    count = torch.Size(shape).numel()
    draws = torch.empty(-(-count // 4), dtype=torch.int64, device=device).random_(-(2**63), None)
    return draws.view(torch.int16)[:count].view(shape)
