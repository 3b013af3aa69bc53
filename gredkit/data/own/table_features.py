"""The feature columns of a user's tables: what they are, and the tensors that come of them."""

from collections.abc import Mapping
from dataclasses import dataclass

import pandas as pd
import torch
from torch import Tensor
from torch.nn import functional as F

from gredkit.data.own.cells import numbers, stacked
from gredkit.data.task import Columns
from gredkit.errors import UserError

ONE_HOT = 1000  # more columns of 0 and 1 are a mistake


def feature_kinds(rows: pd.DataFrame) -> dict[str, str]:
    """The feature columns: `x_*` hold numbers and come first, `cat_*` hold categories."""
    dense = {column: "number" for column in rows if column.startswith("x_")}
    return dense | {column: "category" for column in rows if column.startswith("cat_")}


@dataclass(frozen=True)
class Features:
    """Feature columns, numbers first: how many categories each has, None for numbers.

    Categories alone stay categories, numbers alone stay numbers; beside numbers each category becomes a
    column of its own, 0 or 1. Without feature columns every row carries the same symbol.
    """

    sizes: Mapping[str, int | None]

    @classmethod
    def of(cls, rows: pd.DataFrame) -> "Features":
        """Those of checked rows."""
        made = cls({c: _size(rows[c]) if kind == "category" else None for c, kind in feature_kinds(rows).items()})
        if made.dense and sum(made.categorical.values()) > ONE_HOT:
            raise UserError(
                f"{', '.join(made.categorical)} stand beside numbers and would become "
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
        """What a feature encoder is told."""
        if not self.dense:
            return tuple(self.categorical.values()) or (1,)
        return len(self.dense) + sum(self.categorical.values())

    @property
    def names(self) -> tuple[str, ...]:
        """One a column of the tensor; none if the tables have none."""
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
