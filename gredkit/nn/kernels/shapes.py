"""The shapes of the kernels' inputs: d columns in a row, m in the set MLP, n states."""

from collections.abc import Sequence

from torch import Tensor

from gredkit.nn.kernels.call import expect_sizes

WIDE = 8  # the kernels pad stored rows to a multiple of this many columns
OF_MLP = 8  # weights; a gate has 2, or 4 with its value
GELU = {"none": 0, "tanh": 1}

Weights = Sequence[Tensor]
Shapes = list[tuple[int, ...]]


def of_mlp(d: int, m: int) -> Shapes:
    """First norm, up, down and second norm, each with weight and bias."""
    return [(d,), (d,), (m, d), (m,), (d, m), (d,), (d,), (d,)]


def of_recurrence(n: int, d: int) -> Shapes:
    """ν, θ, γ, and real and imaginary parts of W_in and W_out."""
    return [(n,), (n,), (n,), (n, d), (n, d), (d, n), (d, n)]


def of_network(gates: int, n: int, d: int) -> Shapes:
    """Of PyTorch's recurrent networks, and of the linear layer behind them."""
    return [(gates * n, d), (gates * n, n), (gates * n,), (gates * n,), (d, n), (d,)]


def of_attention(n: int, d: int) -> Shapes:
    """Query, key, value and output, each with weight and bias."""
    return [(n, d), (n,), (n, d), (n,), (n, d), (n,), (d, n), (d,)]


def of_gate(d: int, count: int) -> Shapes:
    """Value and gate, each with weight and bias; or only the gate."""
    return [(d, d), (d,)] * (2 if count == 4 else 1)


def columns(x: Tensor) -> int:
    """The number of columns of a tensor of rows, checked."""
    if not isinstance(x, Tensor) or x.dim() != 2:
        raise ValueError("a kernel takes a tensor with two dimensions")
    expect_sizes(columns=x.shape[1])
    return x.shape[1]


def rows(weights: Weights, which: int) -> int:
    """The number of rows of one of several weights, checked."""
    if which >= len(weights) or not isinstance(weights[which], Tensor) or not weights[which].dim():
        raise ValueError(f"a kernel takes more weights here than {len(weights)}, or tensors with dimensions")
    expect_sizes(rows=len(weights[which]))
    return len(weights[which])


def padded(count: int) -> int:
    return -(-count // WIDE) * WIDE


def form(gelu: str) -> int:
    """The number of a form of gelu in the C code."""
    if gelu not in GELU:
        raise ValueError(f"gelu is {' or '.join(map(repr, GELU))}, not {gelu!r}")
    return GELU[gelu]


def four(weights: Weights) -> tuple[Tensor | None, ...]:
    """Weight and bias of value and gate; None for those of the value in the half form."""
    return tuple(weights) if len(weights) == 4 else (None, None, *weights)
