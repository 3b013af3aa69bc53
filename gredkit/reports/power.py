"""How many seeds would decide a comparison that is open?"""

import functools
import math
from collections.abc import Callable

import numpy as np
from scipy.special import nctdtr, stdtrit

from gredkit.reports.samples import Method, Samples, welch_freedom

POWER = 0.8  # the probability with which so many seeds decide
MOST = 1000  # seeds that are asked about; more are infinity
EXACT, SAID = 20, 100  # numbers of seeds up to which a sentence gives them as they are, and rounded up to tens


def seeds_needed(samples: Samples, level: float, margin: float, least: int, enough: int) -> float:
    """The smallest number of seeds that decides with a probability of 80 %, if the scores are spread as they were seen.

    Decides: either of the two t tests, that the difference is not 0 or that it is smaller than the margin. Infinity if
    a thousand seeds would not do; NaN for folds, whose number does not grow.

    level: of the two-sided test, with its share of the comparisons; each one-sided test of equivalence has as much
    least, enough: seeds with which something can be decided, and with which variants can be called equivalent
    """
    if samples.method == Method.FOLDS:
        return float("nan")
    first = max(least, samples.n + 1)
    return _needed(samples.method, abs(samples.difference), samples.spreads, level, margin, first, enough)


def about(needed: float) -> str:
    """A number of seeds as no more than it is, an estimate: `7`, `about 50`, `more than 100`."""
    if needed <= EXACT:
        return f"{needed:.0f}"
    return f"about {10 * math.ceil(needed / 10)}" if needed <= SAID else f"more than {SAID}"


@functools.lru_cache(maxsize=100_000)  # tables, figures and the page need the same ones
def _needed(
    method: Method,
    difference: float,
    spreads: tuple[float, ...],
    level: float,
    margin: float,
    least: int,
    enough: int,
) -> float:
    def decides(n: int) -> bool:
        error, freedom = _design(method, spreads, n)
        if not error:
            return bool(difference) or n >= enough
        shift, within = difference / error, margin / error if n >= enough else 0.0
        powers = power_of_difference(shift, freedom, level), power_of_equivalence(shift, within, freedom, level)
        return max(powers) >= POWER

    return _first(decides, least)


def power_of_difference(shift: float, freedom: float, level: float) -> float:
    """Of the two-sided t test, for a difference of `shift` standard errors: by the noncentral t distribution."""
    critical = -float(stdtrit(freedom, level / 2))
    return 1 - _below(freedom, shift, critical) + _below(freedom, shift, -critical)


def power_of_equivalence(shift: float, margin: float, freedom: float, level: float) -> float:
    """Of both one-sided tests together, all in standard errors: from below, by the sum of what each of them misses."""
    critical = -float(stdtrit(freedom, level))
    if not margin > critical:  # even a difference of zero has an interval that is too long; or no margin is known
        return 0.0
    missed = sum(_below(freedom, margin + side * shift, critical) for side in (-1, 1))
    return max(0.0, 1.0 - missed)


def _below(freedom: float, shift: float, t: float) -> float:
    """The noncentral t distribution; scipy has NaN for what is too small for a float."""
    return float(np.nan_to_num(nctdtr(freedom, shift, t)))


def _design(method: Method, spreads: tuple[float, ...], n: int) -> tuple[float, float]:
    """Standard error and degrees of freedom, if each variant had n seeds."""
    error = float(np.sqrt(np.square(spreads).sum() / n))
    return error, welch_freedom(spreads, (n, n)) if method == Method.WELCH and error else n - 1.0


def _first(holds: Callable[[int], bool], least: int) -> float:
    """The smallest number from `least` on for which it holds; it holds for all larger ones too."""
    if not holds(max(least, MOST)):
        return float("inf")
    low, high = least - 1, max(least, MOST)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return float(high)
