"""The kernels on tensors: a forward pass returns its result and what it keeps, a backward pass uses that.

All tensors must be contiguous; wrong shapes, types or devices raise a ValueError before C sees them. Gradients of
weights are written into tensors that the caller gives.
"""

from typing import NamedTuple

import torch
from torch import Tensor

from gredkit.nn.kernels.call import LARGEST, call, expect, expect_sizes
from gredkit.nn.kernels.index import Index, Sums
from gredkit.nn.kernels.shapes import Shapes, Weights, columns, form, four, of_gate, of_mlp, of_recurrence, padded, rows


def set_sum(x: Tensor, sums: Sums) -> Tensor:
    """The sum of the listed rows of x. Shape: x [columns, d] -> [rows, d]"""
    if not isinstance(x, Tensor) or x.dim() != 2 or x.shape[1] > LARGEST:
        raise ValueError("the rows to sum are not a tensor with two dimensions, or are too wide")
    d = x.shape[1]  # may be 0
    expect([x], [(sums.num_columns, d)])
    sums.unchanged()
    out = x.new_empty(len(sums), d)
    call("set_sum", len(sums), d, sums.start, sums.columns, x, out)
    return out


def set_mlp(
    a: Tensor, index: Index, weights: Weights, gelu: str, eps: float, keep: bool
) -> tuple[Tensor, Tensor, Tensor | None, Tensor | None]:
    """z and what the backward pass needs: x, statistics of the norms, and the input of gelu.

    With keep=False only z, and x at the nodes.
    Shape: a [sets, d] -> z [sets, d], x padded
    """
    sets, d, m = index.num_sets, columns(a), rows(weights, 2)
    expect([a, *weights], [(sets, d), *of_mlp(d, m)])
    index.unchanged()
    z, x = torch.empty_like(a), a.new_empty(sets if keep else len(index), padded(d))
    stats, u = (a.new_empty(sets, 4), a.new_empty(sets, padded(m))) if keep else (None, None)
    call("set_mlp_forward", sets, d, m, form(gelu), float(eps), a, weights, index.node, u, x, stats, z)
    return z, x, stats, u


def set_mlp_backward(
    gelu: str, a: Tensor, weights: Weights, kept: Weights, index: Index, into_z: Tensor, into_x: Tensor, into: Weights
) -> Tensor:
    """The gradient of a; `into_x` is the gradient of x at the targets."""
    sets, d, m = index.num_sets, columns(a), rows(weights, 2)
    shapes = of_mlp(d, m)
    of_kept: Shapes = [(sets, padded(d)), (sets, 4), (sets, padded(m))]
    expect([a, *weights, *kept, into_z, into_x], [(sets, d), *shapes, *of_kept, (sets, d), (len(index), d)])
    expect(into, shapes)
    index.unchanged()
    into_a, (x, stats, u) = torch.empty_like(a), kept
    call("set_mlp_backward", sets, d, m, form(gelu), a, weights, u, x, stats, into_z, into_x, index.node, into_a, into)
    return into_a


def hop_matrices(width: int, recurrence: Weights) -> Tensor:
    """Shape: three of [n], W_in [n, d] twice, W_out [d, n] twice -> [width, d, d]"""
    n, d = rows(recurrence, 3), rows(recurrence, 5)
    expect_sizes(width=width)
    expect(recurrence, of_recurrence(n, d))
    matrices = recurrence[3].new_empty(width, d, d)
    call("hop_matrices_forward", n, d, width, recurrence, matrices)
    return matrices


def hop_matrices_backward(recurrence: Weights, into_matrices: Tensor, into: Weights) -> None:
    n, d, width = rows(recurrence, 3), rows(recurrence, 5), rows([into_matrices], 0)
    shapes = of_recurrence(n, d)
    expect([*recurrence, into_matrices], [*shapes, (width, d, d)])
    expect(into, shapes)
    call("hop_matrices_backward", n, d, width, recurrence, into_matrices, into)


def hop_filter(z: Tensor, matrices: Tensor, index: Index) -> Tensor:
    """Shape: z [sets, d], matrices [width, d, d] -> [nodes, d]"""
    d, width = _filtered(z, matrices, index)
    y = z.new_empty(len(index), d)
    call("hop_filter_forward", len(index), d, width, index.start, index.sets, z, matrices, y)
    return y


def hop_filter_backward(z: Tensor, matrices: Tensor, index: Index, into_y: Tensor) -> tuple[Tensor, Tensor]:
    d, width = _filtered(z, matrices, index)
    expect([into_y], [(len(index), d)])
    into_z, into_matrices = torch.empty_like(z), torch.empty_like(matrices)
    call("hop_filter_backward", len(index), d, width, len(z), index.start, index.sets, len(index.cuts) - 1, index.cuts,
         z, matrices, into_y, into_z, into_matrices)  # fmt: skip
    return into_z, into_matrices


def hop_scan(u: Tensor, re: Tensor, im: Tensor, index: Index) -> Tensor:
    """Shape: u [sets, 2 n], re and im [n] -> [nodes, 2 n]"""
    n = _scanned(u, re, im, index)
    s = u.new_empty(len(index), 2 * n)
    call("hop_scan_forward", len(index), n, index.start, index.sets, u, re, im, s)
    return s


def hop_scan_backward(u: Tensor, re: Tensor, im: Tensor, index: Index, into_s: Tensor) -> tuple[Tensor, Tensor]:
    n = _scanned(u, re, im, index)
    expect([into_s], [(len(index), 2 * n)])
    into_u, into_eigenvalues = torch.empty_like(u), re.new_empty(2, n)
    call("hop_scan_backward", len(index), n, len(u), index.start, index.sets, len(index.cuts) - 1, index.cuts,
         u, re, im, into_s, into_u, into_eigenvalues)  # fmt: skip
    return into_u, into_eigenvalues


class Dropout(NamedTuple):
    """Dropout as the kernels use it, with one seed per layer."""

    limit: int  # a value is dropped if its random 32-bit number is below this
    scale: float  # multiplies the values that stay
    seeds: tuple[int, ...]

    @classmethod
    def of(cls, share: float, layers: int = 1) -> "Dropout":
        if not 0 <= share < 1:
            raise ValueError(f"dropout must be at least 0 and below 1, not {share}")
        seeds = torch.randint(2**32, (layers,), dtype=torch.int64, device="cpu").tolist() if share else [0] * layers
        return cls(min(round(share * 2**32), 2**32 - 1), 1 / (1 - share), tuple(seeds))

    @property
    def numbers(self) -> tuple[int, float, int]:
        """Limit, scale and seed of a single layer, in the order of the C functions."""
        return self.limit, self.scale, self.seeds[0]


def gate(
    y: Tensor, x: Tensor, weights: Weights, gelu: str, dropout: Dropout, keep: bool
) -> tuple[Tensor, Tensor | None]:
    """h, and what the backward pass needs: the outputs of value and gate before the sigmoid. Shape: [nodes, d]"""
    d, nodes = columns(y), len(y)
    expect([y, x, *weights], [(nodes, d), (nodes, d), *of_gate(d, len(weights))])
    h, pre = torch.empty_like(y), y.new_empty(nodes, 2 * padded(d)) if keep else None
    call("gate_forward", nodes, d, form(gelu), *dropout.numbers, y, x, None, d, four(weights), pre, h)
    return h, pre


def gate_backward(
    y: Tensor, weights: Weights, gelu: str, dropout: Dropout, pre: Tensor, into_h: Tensor, into: Weights
) -> Tensor:
    """The gradient of y."""
    d, nodes = columns(y), len(y)
    shapes = of_gate(d, len(weights))
    expect([y, *weights, pre, into_h], [(nodes, d), *shapes, (nodes, 2 * padded(d)), (nodes, d)])
    expect(into, shapes)
    into_y = torch.empty_like(y)
    call("gate_backward", nodes, d, form(gelu), *dropout.numbers, y, four(weights), pre, into_h, into_y, four(into))
    return into_y


def _filtered(z: Tensor, matrices: Tensor, index: Index) -> tuple[int, int]:
    d, width = columns(z), rows([matrices], 0)
    expect([z, matrices], [(index.num_sets, d), (width, d, d)])
    index.expect_hops(width)
    return d, width


def _scanned(u: Tensor, re: Tensor, im: Tensor, index: Index) -> int:
    n = rows([re], 0)
    expect([u, re, im], [(index.num_sets, 2 * n), (n,), (n,)])
    index.unchanged()
    return n
