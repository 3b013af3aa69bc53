"""A sparse matrix of zeros and ones, and its product with dense rows."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from gredkit.nn.kernels.index import Sums
from gredkit.nn.kernels.known import trusted
from gredkit.nn.kernels.ops import set_sum
from gredkit.nn.kernels.usable import can_fuse, has_kernels, is_transformed, outlived


def starts(sizes: Tensor) -> Tensor:
    """The position at which each segment begins, and the end of the last one. Shape: sizes [n] -> [n + 1]"""
    start = sizes.new_zeros(sizes.numel() + 1, dtype=torch.long)
    torch.cumsum(sizes, 0, out=start[1:])
    return start


@trusted
class Incidence:
    """A sparse matrix of zeros and ones; row r has its ones at `columns[start[r]:start[r + 1]]`.

    Summing the members of sets and looking up the set at a hop are products with such a matrix. The gradient
    of either is the product with its transpose, which is built once and used by all layers.

    Shape: start [rows + 1], columns [entries]

    num_columns: number of columns of the matrix
    single: whether every row has exactly one entry
    """

    def __init__(self, start: Tensor | None, columns: Tensor, num_columns: int, single: bool = False):
        if start is not None:
            self.__dict__["start"] = start
        self.columns, self.num_columns, self.single = columns, num_columns, single

    @cached_property
    def start(self) -> Tensor:
        """[rows + 1] where rows begin; of a look-up it is often not needed, so that it is made only when it is."""
        return torch.arange(self.columns.numel() + 1, device=self.columns.device)

    @classmethod
    def one_a_row(cls, columns: Tensor, num_columns: int) -> Incidence:
        """A matrix with exactly one entry per row: a look-up."""
        return cls(None, columns.long().contiguous(), num_columns, single=True)

    @classmethod
    def by_column(cls, columns: Tensor, num_columns: int) -> Incidence:
        """The transpose of `one_a_row`: for each column, the entries that have it."""
        grouped = cls.one_a_row(columns, num_columns).transposed
        grouped.__dict__["transposed"] = cls.one_a_row(columns, num_columns)  # a new object, to avoid a reference cycle
        return grouped

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "sums"}  # a copy checks its own

    @property
    def num_rows(self) -> int:
        return self.columns.numel() if self.single else self.start.numel() - 1

    @cached_property
    def entry_row(self) -> Tensor:
        """[entries] the row of each entry."""
        if self.single:
            return self.start[:-1]
        rows = torch.arange(self.num_rows, device=self.start.device)
        return torch.repeat_interleave(rows, self.start.diff(), output_size=self.columns.numel())

    @cached_property
    def entries(self) -> Incidence:
        """[rows x entries] the entries that belong to each row."""
        count = self.columns.numel()
        by_entry = Incidence(self.start, torch.arange(count, device=self.start.device), count)
        by_entry.__dict__["transposed"] = Incidence.one_a_row(self.entry_row, self.num_rows)
        return by_entry

    @cached_property
    def divisor(self) -> Tensor:
        """[rows, 1] what the sum of a row is divided by for its mean: its number of entries, but 1 if it has none."""
        return self.start.diff().clamp(min=1)[:, None]

    @cached_property
    def transposed(self) -> Incidence:
        # No link back: a reference cycle would keep both matrices alive after their batch.
        if self.columns.is_cpu and has_kernels():
            turned = self.sums.transposed()
            matrix = Incidence(turned.start, turned.columns, self.num_rows)
            matrix.__dict__["sums"] = turned
            return matrix
        columns, order = self.columns.sort(stable=True)
        start = torch.searchsorted(columns, torch.arange(self.num_columns + 1, device=columns.device))
        return Incidence(start, order if self.single else self.entry_row[order], self.num_rows)

    @cached_property
    def sums(self) -> Sums:
        """The same matrix, checked, in the form that the compiled kernels use; only on a CPU."""
        return Sums(outlived(self.start), outlived(self.columns), self.num_columns)

    def sum(self, x: Tensor) -> Tensor:
        """For each row, the sum of the listed rows of x; zero if there are none. Shape: [columns, d] -> [rows, d]"""
        if is_transformed():  # use only operations that all transformations of PyTorch support
            members = x.index_select(0, self.columns)
            return x.new_zeros(self.num_rows, *x.shape[1:]).index_add(0, self.entry_row, members)
        return _Product.apply(x, self)

    def product(self, x: Tensor) -> Tensor:
        """The same as `sum`, without a gradient."""
        if self.single:
            return x.index_select(0, self.columns)
        if can_fuse(x) and x.dim() == 2 and len(x) == self.num_columns:
            return set_sum(x, self.sums)
        return F.embedding_bag(self.columns, x, self.start, mode="sum", include_last_offset=True)

    def product_into(self, out: Tensor, x: Tensor) -> None:
        """Write `product` to a tensor."""
        if self.single:
            torch.index_select(x, 0, self.columns, out=out)
        else:
            out.copy_(self.product(x))


class _Product(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, matrix: Incidence) -> Tensor:
        ctx.matrix = matrix
        return matrix.product(x)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        matrix = ctx.matrix.transposed
        return _Product.apply(grad, matrix) if torch.is_grad_enabled() else matrix.product(grad), None
