"""The feature columns of a user's tables, and their tensors."""

from collections.abc import Mapping
from dataclasses import dataclass

import pandas as pd
import torch
from torch import Tensor
from torch.nn import functional as F

from gredkit.data.own.cells import numbers, stacked
from gredkit.data.task import Columns
from gredkit.errors import UserError

ONE_HOT = 1000  # more one-hot columns than this are surely a mistake


def feature_kinds(rows: pd.DataFrame) -> dict[str, str]:
    """The kind of each feature column: first `x_*`, which hold numbers, then `cat_*`, which hold categories."""
    dense = {column: "number" for column in rows if column.startswith("x_")}
    return dense | {column: "category" for column in rows if column.startswith("cat_")}


@dataclass(frozen=True)
class Features:
    """The feature columns of a table, numbers first.

    If all columns are categories they stay categories, and if all are numbers they stay numbers. If a table
    has both, each category becomes a column of 0 and 1 (one-hot). Without feature columns every row has the
    same symbol.
    """

    sizes: Mapping[str, int | None]  # the number of categories of each column; None for numbers

    @classmethod
    def of(cls, rows: pd.DataFrame) -> "Features":
        """The features of checked rows."""
        made = cls({c: _size(rows[c]) if kind == "category" else None for c, kind in feature_kinds(rows).items()})
        if made.dense and sum(made.categorical.values()) > ONE_HOT:
            raise UserError(
                f"{', '.join(made.categorical)} are used together with numbers and would become "
                f"{sum(made.categorical.values())} columns of 0 and 1: "
                f"use fewer categories, or only cat_* or only x_* columns"
            )
        return made

    @property
    def dense(self) -> list[str]:
        return [column for column, size in self.sizes.items() if size is None]

    @property
    def categorical(self) -> dict[str, int]:
        return {column: size for column, size in self.sizes.items() if size is not None}

    @property
    def columns(self) -> Columns:
        """The description of the columns for a feature encoder."""
        if not self.dense:
            return tuple(self.categorical.values()) or (1,)
        return len(self.dense) + sum(self.categorical.values())

    @property
    def names(self) -> tuple[str, ...]:
        """One name per column of the tensor; empty if the tables have no feature columns."""
        if not self.dense:
            return tuple(self.categorical)
        return (*self.dense, *[f"{column}={i}" for column, size in self.categorical.items() for i in range(size)])

    def read(self, rows: pd.DataFrame) -> Tensor:
        """The tensor of checked rows. Shape: -> [rows, columns], integers or float32"""
        if not self.sizes:
            return torch.zeros(len(rows), 1, dtype=torch.long)
        category = stacked(rows, list(self.categorical), torch.long)
        if not self.dense:
            return category
        sizes = self.categorical.values()
        one_hot = [F.one_hot(column, size).float() for column, size in zip(category.T, sizes, strict=True)]
        return torch.cat([stacked(rows, self.dense, torch.float), *one_hot], 1)


def _size(cells: pd.Series) -> int:
    return int(numbers(cells).max()) + 1 if len(cells) else 1
