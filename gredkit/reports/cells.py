"""Tables as CSV that a spreadsheet reads as text and numbers, never as formulas."""

import re

import pandas as pd

FORMULA = re.compile(r"\s*[=+\-@\t\r\n|%＝＋－＠]")  # also the wide signs of East Asian letters  # noqa: RUF001
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


def csv_text(frame: pd.DataFrame) -> str:
    """All digits; a text that a spreadsheet would take for a formula gets an apostrophe, which it does not show."""
    safe = frame.rename(columns=_cell)
    for place in range(safe.shape[1]):
        if not pd.api.types.is_numeric_dtype(safe.dtypes.iloc[place]):
            safe.isetitem(place, safe.iloc[:, place].map(_cell))
    return safe.to_csv(index=False, lineterminator="\n")


def _cell(value: object) -> object:
    if not isinstance(value, str):
        return value
    value = value.replace("\r", " ")  # it would end the row, and pandas does not quote it
    return f"'{value}" if FORMULA.match(value) and not NUMBER.fullmatch(value) else value
