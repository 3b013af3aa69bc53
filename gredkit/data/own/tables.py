"""Read a user's tables; remember the line of each row, and report or skip invalid rows."""

import csv
import io
import logging
import os
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from gredkit.errors import UserError

FEW = 5  # reasons that are listed
ON_ERROR = ("raise", "skip")
Sentence = Callable[[pd.Series], str]
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Table:
    """The rows of a file; their index is the line number, as an editor counts."""

    rows: pd.DataFrame
    file: str
    unit: str = "line"  # in a text file, where the header is line 1; 'row' in a Parquet file, counted from 1
    torn: dict[int, int] = field(default_factory=dict)  # line -> number of cells, if the header has fewer

    def place(self, where: Any) -> str:
        return f"{self.file}, {self.unit} {where}"

    def require(self, columns: Iterable[str]) -> None:
        """Raise unless the table has all of these columns."""
        for column in columns:
            if column not in self.rows:
                header = self.place(1) if self.unit == "line" else self.file
                there = ", ".join(map(str, self.rows.columns)) or "none"
                if len(self.rows.columns) == 1 and (";" in there or "\t" in there):
                    raise UserError(f"{header}: there is only one column, {there!r}: separate the cells by commas")
                raise UserError(f"{header}: there is no column {column!r}: add it, or rename one of these: {there}")

    def too_long(self) -> tuple[np.ndarray, Sentence]:
        """Which rows have more cells than the header, and the error message for one of them."""
        header = len(self.rows.columns)

        def sentence(row: pd.Series) -> str:
            return f"{self.torn[row.name]} cells, but the header has {header}: put a cell that has a comma in quotes"

        return self.rows.index.isin(list(self.torn)), sentence


class Problems:
    """Handles invalid rows: raises for the first one, or collects the reasons for leaving them out.

    on_error: 'raise' or 'skip'
    skipped_by: how to ask for skipping, quoted in the error message; empty if nobody can
    """

    def __init__(self, on_error: str, skipped_by: str = "on_error='skip'"):
        if on_error not in ON_ERROR:
            raise UserError(f"on_error is one of {', '.join(ON_ERROR)}, not {on_error!r}")
        self.raises, self.skipped_by = on_error == "raise", skipped_by
        self.left_out = 0
        self.reasons: list[str] = []

    def found(self, table: Table, wrong: np.ndarray, sentence: Sentence) -> bool:
        """Whether any row is wrong; `sentence` makes the message for a row: what is wrong and what to do."""
        places = np.flatnonzero(wrong)
        for i in places[: 1 if self.raises else max(FEW - len(self.reasons), 0)]:
            reason = f"{table.place(table.rows.index[i])}: {sentence(table.rows.iloc[i])}"
            if self.raises:
                raise UserError(f"{reason} (use {self.skipped_by} to leave it out)" if self.skipped_by else reason)
            self.reasons.append(reason)
        return len(places) > 0

    def notes(self, name: str, left: int, what: str) -> dict[str, Any]:
        """Notes for the reader of the results about what was left out; also logged in one line."""
        if not self.left_out:
            if not left:
                raise UserError(f"{name}: there are no {what}: add some")
            return {}
        count = f"{self.left_out} of {self.left_out + left} {what}"
        if not left:
            raise UserError(f"{name}: nothing is left of {count}; the first reason: {self.reasons[0]}")
        _log.warning("%s: left out %s; the first reason: %s", name, count, self.reasons[0])
        return {"left_out": self.left_out, "left_out_because": tuple(self.reasons)}


def read_csv(path: Path) -> Table:
    """A CSV file with every cell as text; empty rows are dropped."""
    text = read_text(path)
    lines = text.count("\n") + (not text.endswith("\n"))
    torn: dict[int, int] = {}
    try:
        rows = _parse(text)
        rows.index = pd.RangeIndex(2, len(rows) + 2)
        plain = len(rows) + 1 == lines  # otherwise some cell has a line break in it
    except pd.errors.EmptyDataError:
        raise UserError(f"{path}, line 1: the file is empty: its first line must name the columns") from None
    except (pd.errors.ParserError, pd.errors.ParserWarning):
        plain = False
    if not plain:
        rows, torn = _parse_by_line(text, path)
    rows.columns = rows.columns.str.strip()
    return Table(rows[rows.notna().any(axis=1)], str(path), torn=torn)


def read_text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")  # with or without the byte order mark that spreadsheets write
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise UserError(f"{path}, line {line}: this is not UTF-8 text: save the file as 'CSV UTF-8'") from None
    except FileNotFoundError:
        raise UserError(f"there is no file {str(path)!r} in {os.getcwd()}: correct the path") from None
    except OSError as error:
        raise UserError(f"cannot read {path}: {(error.strerror or str(error)).lower()}") from None


def _parse(text: str) -> pd.DataFrame:
    with warnings.catch_warnings():
        warnings.simplefilter("error", pd.errors.ParserWarning)  # pandas would cut off cells beyond the header
        return pd.read_csv(
            io.StringIO(text),
            dtype=str,
            index_col=False,
            skip_blank_lines=False,
            skipinitialspace=True,
            keep_default_na=False,
            na_values=["", "NaN", "nan"],
        )


def _parse_by_line(text: str, path: Path) -> tuple[pd.DataFrame, dict[int, int]]:
    """The same for a file in which a row spans several lines or has too many cells.

    Long rows are cut to the length of the header; their line and number of cells are returned.
    """
    reader = csv.reader(io.StringIO(text), strict=True, skipinitialspace=True)
    tidy = io.StringIO()
    writer = csv.writer(tidy)
    lines, torn, begin = [], {}, 1
    try:
        header = next(reader)
        writer.writerow(header)
        begin = reader.line_num + 1
        for row in reader:
            if len(row) > len(header):
                torn[begin] = len(row)
            writer.writerow(row[: len(header)])
            lines.append(begin)
            begin = reader.line_num + 1
    except csv.Error as error:
        raise UserError(f"{path}, line {begin}: this is not CSV ({error}): look for an unclosed quote") from None
    rows = _parse(tidy.getvalue())
    rows.index = pd.Index(lines)
    return rows, torn
