"""Reductions over sets of rows: one function, two backends with equal values and gradients."""

from functools import cache
from typing import Any

import torch
from torch import Tensor

from gredkit import ranges
from gredkit.errors import UserError
from gredkit.nn.incidence import Incidence
from gredkit.nn.kernels.usable import is_transformed

REDUCTIONS = ("sum", "mean", "max")
BACKENDS = ("native", "torch_scatter", "auto")

# What 'auto' takes, by type of device and reduction: the faster one in `python -m gredkit.bench segments`. It is a
# table and not a measurement at run time, so that a trial computes the same bits whenever it runs. Only CPUs were
# measured; where nothing is listed, 'auto' is 'native'.
FASTEST = {"cpu": {"sum": "native", "mean": "native", "max": "native"}}


@cache
def torch_scatter() -> Any | None:
    """The optional package, or None if it is not installed."""
    try:
        import torch_scatter
    except ImportError:
        return None
    return torch_scatter


def installed_backends() -> list[str]:
    """The backends that can be used here."""
    return ["native", "torch_scatter"] if torch_scatter() else ["native"]


def check_backend(backend: str) -> None:
    """Whether a backend is known and installed; asked by constructors, so that nothing fails during training."""
    ranges.one_of("backend", backend, BACKENDS)
    if backend == "torch_scatter" and not torch_scatter():
        raise UserError(
            "torch-scatter is not installed: run pip install --no-build-isolation torch-scatter, which compiles it "
            "against the installed torch, or set SCATTER = 'native'"
        )


def segment_reduce(x: Tensor, sets: Incidence, reduce: str, backend: str = "native") -> Tensor:
    """The `sum`, `mean` or `max` of the rows of x in each set; zero for the empty set.

    Where several rows hold the maximum, the first of them receives the gradient.
    Shape: x [nodes, d], sets [sets x nodes] -> [sets, d]
    """
    ranges.one_of("reduce", reduce, REDUCTIONS)
    backend = _chosen(backend, reduce, x)
    if reduce == "max":
        return _max_of_members(x, sets) if is_transformed() else _Max.apply(x, sets, backend)
    total = _scatter_sum(x[sets.columns], sets.start) if backend == "torch_scatter" else sets.sum(x)
    if reduce == "sum":
        return total
    return total / sets.divisor


def sum_entries(rows: Tensor, sets: Incidence, backend: str = "native") -> Tensor:
    """The sum in each set of rows that stand one per member. Shape: rows [entries, d] -> [sets, d]"""
    if _chosen(backend, "sum", rows) == "torch_scatter":
        return _scatter_sum(rows, sets.start)
    return sets.entries.sum(rows)


def segment_softmax(scores: Tensor, sets: Incidence, backend: str = "native") -> Tensor:
    """The softmax of the members' scores in each set. Shape: scores [nodes, heads] -> [entries, heads]"""
    top = segment_reduce(scores.detach(), sets, "max", backend)
    weight = (scores[sets.columns] - top[sets.entry_row]).exp()
    total = sum_entries(weight, sets, backend)
    return weight / total[sets.entry_row]


def _chosen(backend: str, reduce: str, x: Tensor) -> str:
    """'native' or 'torch_scatter'."""
    if backend == "native" or is_transformed() or torch.compiler.is_compiling():
        return "native"  # torch-scatter has no rules for torch.func and torch.compile
    check_backend(backend)
    if backend == "auto":
        backend = FASTEST.get(x.device.type, {}).get(reduce, "native")
    return backend if torch_scatter() else "native"


def _scatter_sum(rows: Tensor, start: Tensor) -> Tensor:
    """Added up in float32 at least, as the native sum does. Shape: [entries, d] -> [sets, d]"""
    full = torch.promote_types(rows.dtype, torch.float32)
    return torch_scatter().segment_csr(rows.to(full), start, reduce="sum").to(rows.dtype)  # type: ignore[union-attr]


class _Max(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, sets: Incidence, backend: str) -> Tensor:
        value, holder = _max_scatter(x, sets) if backend == "torch_scatter" else _max_native(x, sets)
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
