"""The shapes of what the kernels read: d columns of a row, m of the set MLP, n states."""

from collections.abc import Sequence

from torch import Tensor

from gredkit.nn.kernels.call import expect_sizes

WIDE = 8  # columns to which the kernels pad what they keep
OF_MLP, OF_RECURRENCE = 8, 7  # how many weights; a gate has 2, or 4 with its value
GELU = {"none": 0, "tanh": 1}

Weights = Sequence[Tensor]
Shapes = list[tuple[int, ...]]


def of_mlp(d: int, m: int) -> Shapes:
    """Norm, up, down, and the norm behind, a weight and a bias each."""
    return [(d,), (d,), (m, d), (m,), (d, m), (d,), (d,), (d,)]


def of_recurrence(n: int, d: int) -> Shapes:
    """ν, θ, γ, and both parts of both W."""
    return [(n,), (n,), (n,), (n, d), (n, d), (d, n), (d, n)]


def of_gate(d: int, count: int) -> Shapes:
    """Value and gate, a weight and a bias each; or the gate alone."""
    return [(d, d), (d,)] * (2 if count == 4 else 1)


def columns(x: Tensor) -> int:
    """Of rows."""
    if not isinstance(x, Tensor) or x.dim() != 2:
        raise ValueError("a kernel takes rows, which are a tensor with two dimensions")
    expect_sizes(columns=x.shape[1])
    return x.shape[1]


def rows(weights: Weights, which: int) -> int:
    """Of one of several weights."""
    if which >= len(weights) or not isinstance(weights[which], Tensor) or not weights[which].dim():
        raise ValueError(f"a kernel takes more weights here than {len(weights)}, or tensors with dimensions")
    expect_sizes(rows=len(weights[which]))
    return len(weights[which])


def padded(count: int) -> int:
    return -(-count // WIDE) * WIDE


def form(gelu: str) -> int:
    """The number by which C knows it."""
    if gelu not in GELU:
        raise ValueError(f"gelu is {' or '.join(map(repr, GELU))}, not {gelu!r}")
    return GELU[gelu]


def four(weights: Weights) -> tuple[Tensor | None, ...]:
    """Weight and bias of value and gate; None for those of the value in the half form."""
    return tuple(weights) if len(weights) == 4 else (None, None, *weights)
