"""Reductions over sets of rows: one function, two backends with equal values and gradients."""

from functools import cache
from typing import Any

import torch
from torch import Tensor

from gredkit.errors import UserError
from gredkit.nn.incidence import Incidence
from gredkit.nn.kernels.usable import is_transformed

# Measured by `python -m gredkit.bench segments`: a bag of rows, which never writes out the members, wins
# all three on a CPU. torch-scatter stays one argument away for machines where it does not.
FASTEST = {"sum": "native", "mean": "native", "max": "native"}


@cache
def torch_scatter() -> Any | None:
    """The optional package, or None where it is not installed."""
    try:
        import torch_scatter
    except ImportError:
        return None
    return torch_scatter


def backends() -> list[str]:
    """The backends that can be used here."""
    return ["native", "scatter"] if torch_scatter() else ["native"]


def segment_reduce(x: Tensor, sets: Incidence, reduce: str, backend: str | None = None) -> Tensor:
    """The `sum`, `mean` or `max` of the rows of x in each set; zero for the empty set.

    Where several rows hold the maximum, the first of them receives the gradient.
    Shape: x [nodes, d], sets [sets x nodes] -> [sets, d]
    """
    if reduce not in FASTEST:
        raise UserError(f"sets are reduced by {', '.join(FASTEST)}, not by {reduce!r}")
    backend = backend or FASTEST[reduce]
    if backend != "native" and backend not in backends():  # native is always there: nothing to look up
        raise UserError(f"segment backend {backend!r} is not to be had here; choose from {', '.join(backends())}")
    if reduce == "max":
        return _max_of_members(x, sets) if is_transformed() else _Max.apply(x, sets, backend)
    if backend == "scatter":
        total = torch_scatter().segment_csr(x[sets.columns], sets.start, reduce="sum")  # type: ignore[union-attr]
    else:
        total = sets.sum(x)
    if reduce == "sum":
        return total
    size = sets.start.diff().clamp(min=1).to(x.dtype)
    return total / size[:, None]


def segment_softmax(scores: Tensor, sets: Incidence) -> Tensor:
    """The softmax of the members' scores in each set. Shape: scores [nodes, heads] -> [entries, heads]"""
    top = segment_reduce(scores.detach(), sets, "max")
    weight = (scores[sets.columns] - top[sets.entry_row]).exp()
    total = sets.entries.sum(weight)
    return weight / total[sets.entry_row]


class _Max(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, sets: Incidence, backend: str) -> Tensor:
        value, holder = _max_scatter(x, sets) if backend == "scatter" else _max_native(x, sets)
        empty = (sets.start.diff() == 0)[:, None]
        ctx.num_rows = x.shape[0]
        ctx.save_for_backward(holder.masked_fill(empty, ctx.num_rows))  # a row of its own, dropped below
        return value.masked_fill(empty, 0)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        (holder,) = ctx.saved_tensors
        into_x = grad.new_zeros(ctx.num_rows + 1, grad.shape[1]).scatter_add(0, holder, grad)
        return into_x[: ctx.num_rows], None, None


def _max_of_members(x: Tensor, sets: Incidence) -> Tensor:
    """The same by operations that PyTorch differentiates and maps in every way."""
    members, row = x.index_select(0, sets.columns), sets.entry_row
    known, number = members.detach(), torch.arange(len(row), device=row.device)[:, None].expand(members.shape)
    cell = row[:, None].expand(members.shape)
    top = known.new_zeros(sets.num_rows, x.shape[1]).scatter_reduce(0, cell, known, "amax", include_self=False)
    holding = torch.where(known == top.index_select(0, row), number, len(row))
    first = holding.new_zeros(sets.num_rows, x.shape[1]).scatter_reduce(0, cell, holding, "amin", include_self=False)
    held = torch.where(number == first.index_select(0, row), members, 0)
    return x.new_zeros(sets.num_rows, x.shape[1]).index_add(0, row, held)


def _max_native(x: Tensor, sets: Incidence) -> tuple[Tensor, Tensor]:
    value, _, _, holder = torch.embedding_bag(
        x,
        sets.columns,
        sets.start,
        mode=2,
        include_last_offset=True,  # mode 2 is the maximum
    )
    return value, holder


def _max_scatter(x: Tensor, sets: Incidence) -> tuple[Tensor, Tensor]:
    value, entry = torch_scatter().segment_max_csr(x[sets.columns], sets.start)  # type: ignore[union-attr]
    return value, torch.cat([sets.columns, sets.columns.new_zeros(1)])[entry]  # an empty set has one past the last
