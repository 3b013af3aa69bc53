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
    return torch.cat([sizes.new_zeros(1), sizes.cumsum(0)])


@trusted
class Incidence:
    """A sparse matrix of zeros and ones; row r has its ones at `columns[start[r]:start[r + 1]]`.

    Summing the members of sets and looking up the set at a hop are products with such a matrix. The gradient
    of either is the product with its transpose, which is built once and used by all layers.

    Shape: start [rows + 1], columns [entries]

    num_columns: number of columns of the matrix
    single: whether every row has exactly one entry
    """

    def __init__(self, start: Tensor, columns: Tensor, num_columns: int, single: bool = False):
        self.start, self.columns, self.num_columns, self.single = start, columns, num_columns, single

    @classmethod
    def one_a_row(cls, columns: Tensor, num_columns: int) -> Incidence:
        """A matrix with exactly one entry per row: a look-up."""
        start = torch.arange(columns.numel() + 1, device=columns.device)
        return cls(start, columns.long().contiguous(), num_columns, single=True)

    @classmethod
    def by_column(cls, columns: Tensor, num_columns: int) -> Incidence:
        """The transpose of `one_a_row`: for each column, the entries that have it."""
        grouped = cls.one_a_row(columns, num_columns).transposed
        grouped.__dict__["transposed"] = cls.one_a_row(columns, num_columns)  # a new object, to avoid a reference cycle
        return grouped

    @property
    def num_rows(self) -> int:
        return self.start.numel() - 1

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
    def transposed(self) -> Incidence:
        # No link back: a reference cycle would keep both matrices alive after their batch.
        if self.columns.is_cpu and has_kernels():
            turned = self.sums.transposed()
            matrix = Incidence(turned.start, turned.columns, self.num_rows)
            matrix.__dict__["sums"] = turned
            return matrix
        order = self.columns.argsort(stable=True)
        counts = self.columns.new_zeros(self.num_columns).index_add_(0, self.columns, torch.ones_like(self.columns))
        return Incidence(starts(counts), self.entry_row[order], self.num_rows)

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

    def _product(self, x: Tensor) -> Tensor:
        if self.single:
            return x.index_select(0, self.columns)
        if can_fuse(x) and x.dim() == 2 and len(x) == self.num_columns:
            return set_sum(x, self.sums)
        return F.embedding_bag(self.columns, x, self.start, mode="sum", include_last_offset=True)


class _Product(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, matrix: Incidence) -> Tensor:
        ctx.matrix = matrix
        return matrix._product(x)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        matrix = ctx.matrix.transposed
        return _Product.apply(grad, matrix) if torch.is_grad_enabled() else matrix._product(grad), None
