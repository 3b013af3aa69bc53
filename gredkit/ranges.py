"""Checks of values: each raises a `UserError` that says which values are allowed."""

import math
from collections.abc import Callable, Iterable
from numbers import Integral, Real
from typing import Any

from gredkit.errors import UserError

WIDEST = 2**14  # columns of anything that is multiplied with a matrix
MOST = 10**6  # of anything that is counted, where nothing smaller is the limit
LARGEST_SEED = 2**32 - 1


def whole(name: str, value: Any, least: int = 1, most: int = MOST) -> None:
    """Check for a whole number within limits."""
    if not isinstance(value, Integral) or isinstance(value, bool) or not least <= int(value) <= most:
        raise UserError(f"{name} is a whole number from {least:,} to {most:,}, not {said(value)}")


def width(name: str, value: Any) -> None:
    """Check for a number of columns."""
    whole(name, value, 1, WIDEST)


def seed(value: Any, name: str = "seed") -> None:
    """Check for a seed that all random generators accept."""
    whole(name, value, 0, LARGEST_SEED)


def number(name: str, value: Any, holds: Callable[[float], bool], what: str) -> None:
    """Check for a finite number for which `holds` is true; `what` describes these numbers."""
    if not is_finite(value) or not holds(value):
        raise UserError(f"{name} is {what}, not {said(value)}")


def positive(name: str, value: Any) -> None:
    number(name, value, lambda v: v > 0, "a number above 0")


def not_negative(name: str, value: Any) -> None:
    number(name, value, lambda v: v >= 0, "a number, 0 or more")


def share(name: str, value: Any) -> None:
    number(name, value, lambda v: 0 <= v <= 1, "a share from 0 to 1")


def one_of(name: str, value: Any, choices: Iterable[str]) -> None:
    """Check for one of a few words."""
    choices = tuple(choices)
    if not isinstance(value, str) or value not in choices:
        raise UserError(f"{name} is one of {', '.join(choices)}, not {said(value)}")


def is_finite(value: Any) -> bool:
    """Whether a value is a finite number; a very large integer is not, because it has no float."""
    try:
        return isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)
    except OverflowError:
        return False


def said(value: Any) -> str:
    """A value, shortened so that it fits into a sentence."""
    try:
        text = repr(value)
    except ValueError:  # Python refuses to print more than 4300 digits
        return "a number of thousands of digits"
    return " ".join(text.split()) if len(text) <= 60 else f"{' '.join(text[:50].split())} …"
