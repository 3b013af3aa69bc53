"""Numbers as text, with the digits that matter."""

import math
from collections.abc import Iterable

from gredkit.registry import METRICS

UP, DOWN = "↑", "↓"
NOTHING = "-"
USUAL = 3  # decimals if there is no spread to choose them by
LIMIT = 0.05  # a p is never written as if it were on the other side


def metric_name(metric: str) -> str:
    """The label of a metric; the name of one that is not registered here."""
    return METRICS.label(metric)


def decimals(spreads: Iterable[float]) -> int:
    """As many decimals as show two digits of a typical standard deviation, but at most four."""
    known = sorted(spread for spread in spreads if math.isfinite(spread) and spread > 0)
    if not known:
        return USUAL
    typical = float(f"{known[len(known) // 2]:.1e}")  # 0.00999… is 0.010
    return min(4, max(0, 1 - math.floor(math.log10(typical))))


def mean_and_spread(mean: float, spread: float, digits: int) -> str:
    """`0.913 ± 0.004`; without a spread the mean alone, without a mean a dash."""
    if math.isnan(mean):
        return NOTHING
    return f"{mean:.{digits}f}" if math.isnan(spread) else f"{mean:.{digits}f} ± {spread:.{digits}f}"


def significant(number: float, digits: int = 3) -> str:
    """Rounded to so many significant digits, without an exponent between a millionth and a million."""
    if math.isnan(number):
        return NOTHING
    size = abs(number)
    if not 1e-6 <= size < 1e6:
        return f"{number + 0.0:.{digits}g}"  # never -0
    return f"{number:.{max(0, digits - 1 - math.floor(math.log10(size)))}f}"


def p_value(p: float) -> str:
    """`p = 0.031`, or `p < 0.001`; where it would round to 0.05, as many digits as show on which side it is."""
    if p < 0.001:
        return "p < 0.001"
    for digits in (2, 3, 4):
        text = f"{p:.{digits}g}"
        if float(text) != LIMIT or p == LIMIT:
            return f"p = {text}"
    return "p < 0.05" if p < LIMIT else "p > 0.05"


def several(number: int, singular: str) -> str:
    """`1 seed`, `3 seeds`."""
    return f"{number} {singular}" if number == 1 else f"{number} {singular}s"
