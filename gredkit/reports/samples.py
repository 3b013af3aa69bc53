"""Two variants over seeds: how far apart are they, how certain is that, and how often does one beat the other?

The test is chosen by the design of the study, never by its result:

- `PAIRED`: variants of the same architecture with the same number of parameters share what a seed decides (start
  values, order of batches), so their scores correlate over seeds: the paired t test.
- `WELCH`: other variants share nothing of that: Welch's t test, which allows each its own variance. It takes one degree
  of freedom less than Welch and Satterthwaite estimate, but not less than the smaller sample has: with 5 to 12 seeds,
  spreads that differ by a factor of 4, and the small levels of many comparisons, theirs errs too often.
- `FOLDS`: both are trained on the same overlapping splits of the data: the paired t test over splits, with the
  variance of Nadeau and Bengio (2003), (1/n + test/train) s² in place of s²/n, since overlapping training sets make
  scores agree more than independent ones would.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property

import numpy as np
from scipy.special import gammaln, ndtri, stdtr, stdtrit

ROUNDING = 1e-9  # a difference below this share of the scores is a tie
LEVEL = 0.05


class Method(str, Enum):
    """How two variants are compared; the values are what a reader sees."""

    PAIRED = "paired t"
    WELCH = "Welch t"
    FOLDS = "paired t, Nadeau-Bengio"

    __str__ = str.__str__


@dataclass(frozen=True)
class Samples:
    """The scores of two variants, larger is better; paired methods have as many of both, in the same order."""

    method: Method
    ours: np.ndarray
    theirs: np.ndarray
    test_share: float = 0.0  # test graphs over training graphs of a split; for `FOLDS`

    @property
    def n(self) -> int:
        """The number of scores of the variant that has fewer."""
        return min(len(self.ours), len(self.theirs))

    @cached_property
    def rounding(self) -> float:
        return ROUNDING * float(max(np.abs(self.ours).max(), np.abs(self.theirs).max()))

    @cached_property
    def difference(self) -> float:
        """The mean of ours above that of theirs."""
        found = float(self.ours.mean() - self.theirs.mean())
        return found if abs(found) > self.rounding else 0.0

    @cached_property
    def spreads(self) -> tuple[float, ...]:
        """The standard deviation of the differences, or of both samples; 0 where there is none but rounding."""
        samples = (self.ours, self.theirs) if self.method == Method.WELCH else (self.ours - self.theirs,)
        found = (float(sample.std(ddof=1)) for sample in samples)
        return tuple(spread if spread > self.rounding else 0.0 for spread in found)

    @cached_property
    def error(self) -> float:
        """The standard error of the difference."""
        if self.method == Method.WELCH:
            ours, theirs = self.spreads
            return float(np.sqrt(ours**2 / len(self.ours) + theirs**2 / len(self.theirs)))
        extra = self.test_share if self.method == Method.FOLDS else 0.0
        return self.spreads[0] * float(np.sqrt(1 / self.n + extra))

    @cached_property
    def freedom(self) -> float:
        """Degrees of freedom."""
        if self.method != Method.WELCH or not self.error:
            return self.n - 1.0
        return welch_freedom(self.spreads, (len(self.ours), len(self.theirs)))

    @property
    def p(self) -> float:
        """Two-sided; NaN if there is no spread to test against."""
        return 2 * float(stdtr(self.freedom, -abs(self.difference) / self.error)) if self.error else float("nan")

    def p_equivalence(self, margin: float) -> float:
        """The larger p of the two one-sided tests that the difference is above -margin and below margin (TOST)."""
        return float(stdtr(self.freedom, (abs(self.difference) - margin) / self.error)) if self.error else float("nan")

    def interval(self, level: float) -> tuple[float, float]:
        """The t interval with this two-sided level of errors; without any spread it has no length."""
        reach = -float(stdtrit(self.freedom, level / 2)) * self.error
        return self.difference - reach, self.difference + reach

    @property
    def effect(self) -> float:
        """The difference in standard deviations, with Hedges' correction; NaN without any spread."""
        spread = float(np.sqrt(np.mean(np.square(self.spreads))))
        freedom = len(self.ours) + len(self.theirs) - 2 if self.method == Method.WELCH else self.n - 1
        return self.difference / spread * hedges(freedom) if spread else float("nan")

    def wins(self) -> tuple[float, float, float]:
        """P(ours > theirs) of one run each, a tie counts half, and the ends of its 95 % interval.

        Paired: the share of seeds with Wilson's interval. Welch: over all pairs of runs, with Newcombe's interval.
        Folds: the share of folds. They have no interval (NaN), since training sets of folds overlap: their wins are not
        independent, as both intervals would take for granted.
        """
        if self.method != Method.WELCH:
            share = float(_beats(self.ours, self.theirs, self.rounding).mean())
            if self.method == Method.FOLDS:
                return share, np.nan, np.nan
            return share, *_solved(share, lambda p: p * (1 - p) / self.n)
        pairs = _beats(self.ours[:, None], self.theirs[None], self.rounding)
        share, n = float(pairs.mean()), (len(self.ours) + len(self.theirs)) / 2

        def variance(p: float) -> float:  # method 5 of Newcombe, Statistics in Medicine 25 (2006) 559
            return p * (1 - p) * (1 + (n - 1) * ((1 - p) / (2 - p) + p / (1 + p))) / pairs.size

        return share, *_solved(share, variance)


def welch_freedom(spreads: Sequence[float], sizes: Sequence[int]) -> float:
    """One less than the degrees of freedom of Welch and Satterthwaite, but as many as the smaller sample has."""
    parts = [spread**2 / size for spread, size in zip(spreads, sizes, strict=True)]
    estimated = sum(parts) ** 2 / sum(part**2 / (size - 1) for part, size in zip(parts, sizes, strict=True))
    return max(estimated - 1, min(sizes) - 1.0)


def hedges(freedom: float) -> float:
    """The factor that makes Cohen's d unbiased in small samples."""
    return float(np.exp(gammaln(freedom / 2) - gammaln((freedom - 1) / 2)) / np.sqrt(freedom / 2))


def _beats(ours: np.ndarray, theirs: np.ndarray, rounding: float) -> np.ndarray:
    """1 where ours is better, 1/2 for a tie."""
    differences = ours - theirs
    return np.where(np.abs(differences) <= rounding, 0.5, differences > 0)


def _solved(share: float, variance: Callable[[float], float]) -> tuple[float, float]:
    """The ends of the shares p with |share - p| <= z sqrt(variance(p)), which are between 0 and 1 for every share."""
    z = -float(ndtri(LEVEL / 2))

    def beyond(p: float) -> float:
        return (share - p) ** 2 - z**2 * variance(p)

    low = 0.0 if share == 0 else _root(beyond, 0.0, min(share, 1 - ROUNDING))
    high = 1.0 if share == 1 else _root(beyond, 1.0, max(share, ROUNDING))
    return low, high


def _root(function: Callable[[float], float], above: float, below: float) -> float:
    """Where a function is zero, between a place where it is above zero and one where it is below."""
    for _ in range(40):
        middle = (above + below) / 2
        above, below = (middle, below) if function(middle) > 0 else (above, middle)
    return middle
