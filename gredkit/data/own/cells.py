"""Check the cells of a user's table and turn its columns into tensors."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from gredkit.data.objectives import CLASSES, IGNORED
from gredkit.data.own.tables import Sentence
from gredkit.data.task import SPLITS
from gredkit.errors import UserError

CATEGORIES = 1_000_000  # an embedding with more rows is surely a mistake
EXACT = 2**53  # float64 represents all whole numbers below this exactly


@dataclass(frozen=True)
class Kind:
    """What the cells of a column must be, and the words of the error message."""

    fits: Callable[[pd.Series], np.ndarray]  # which cells are valid
    complaint: str
    advice: str


def numbers(cells: pd.Series) -> np.ndarray:
    """The cells as float64; NaN where a cell is not a number."""
    if pd.api.types.is_numeric_dtype(cells):
        return cells.to_numpy(np.float64, na_value=np.nan)
    try:
        return cells.astype(np.float64).to_numpy()
    except (ValueError, TypeError):
        return pd.to_numeric(cells.astype(object), errors="coerce").to_numpy(np.float64)


def _category(cells: pd.Series) -> np.ndarray:
    value = numbers(cells)
    return (value >= 0) & (value < CATEGORIES) & (np.floor(value) == value)


def _number(cells: pd.Series) -> np.ndarray:
    with np.errstate(over="ignore"):  # numbers too large for float32 become infinite
        return np.isfinite(numbers(cells).astype(np.float32))


def _class(cells: pd.Series) -> np.ndarray:
    value = numbers(cells)
    return cells.notna().to_numpy() & (np.isnan(value) | (np.isfinite(value) & (np.floor(value) == value)))


def _label(cells: pd.Series) -> np.ndarray:
    return np.isin(numbers(cells), (0, 1)) | cells.isna().to_numpy()


KINDS = {
    "id": Kind(lambda cells: cells.notna().to_numpy(), "", "every row needs one"),
    "category": Kind(
        _category,
        f"is not a whole number from 0 to {CATEGORIES - 1}",
        "number the categories 0, 1, 2, …, or call the column x_… if it holds numbers",
    ),
    "number": Kind(_number, "is not a finite number", "write a number"),
    "class": Kind(
        _class, "is not a class", "write a whole number or a word, or set task='regression' for numbers to predict"
    ),
    "label": Kind(_label, "is neither 0 nor 1", "write 0 or 1, or leave it empty if it is unknown"),
    "split": Kind(lambda cells: cells.isin(SPLITS).to_numpy(), "is not a split", f"write {', '.join(SPLITS)}"),
}


def mistakes(rows: pd.DataFrame, column: str, kind: str) -> tuple[np.ndarray, Sentence]:
    """Which cells of a column are not valid for a kind, and the error message for one of them."""
    expected = KINDS[kind]

    def sentence(row: pd.Series) -> str:
        if pd.isna(row[column]):
            return f"{column!r} is empty: {expected.advice}"
        return f"'{row[column]}' in {column!r} {expected.complaint}: {expected.advice}"

    return ~expected.fits(rows[column]), sentence


def stacked(rows: pd.DataFrame, columns: Sequence[str], dtype: torch.dtype) -> Tensor:
    """Checked columns as one tensor. Shape: -> [rows, columns]"""
    values = [numbers(rows[column]) for column in columns]
    return torch.from_numpy(np.stack(values, 1) if values else np.empty((len(rows), 0))).to(dtype)


@dataclass(frozen=True)
class Targets:
    """The values to predict. Shape: y [items] for classes, [items, outputs] otherwise"""

    y: Tensor
    outputs: int
    classes: tuple[Any, ...] | None = None  # the names of the classes 0, 1, 2, …


def target_kind(task: str) -> str:
    """The kind of cell that a target column must have."""
    return "class" if task in CLASSES else "label" if task == "labels" else "number"


def one_class_column(columns: Sequence[str], task: str, file: str) -> None:
    """Raise if a classification task has several target columns; other tasks may have any number."""
    if task in CLASSES and len(columns) > 1:
        raise UserError(
            f"{file}: {task} reads one target column, not {', '.join(columns)}: "
            f"keep one, or set task='labels' for several yes-or-no targets"
        )


def read_targets(rows: pd.DataFrame, columns: Sequence[str], task: str, asked: np.ndarray | None = None) -> Targets:
    """The targets of checked rows; classes are numbered in sorted order. Only `asked` rows have a target."""
    if task not in CLASSES:
        return Targets(stacked(rows, columns, torch.float), len(columns))
    cells = rows[columns[0]]
    asked = np.ones(len(rows), bool) if asked is None else asked
    value = numbers(cells)
    whole = bool((np.abs(value[asked]) < EXACT).all()) and cells.dtype != bool
    named = value[asked].astype(np.int64) if whole else cells[asked].astype(str).to_numpy(object)
    classes, number = np.unique(named, return_inverse=True)
    if len(classes) < 2:
        only = "".join(f" only, {name}" for name in classes)
        raise UserError(f"{columns[0]!r} holds {len(classes)} class{only}: training needs at least two")
    y = np.full(len(rows), IGNORED, np.int64)
    y[asked] = number
    return Targets(torch.from_numpy(y), len(classes), tuple(classes.tolist()))
