"""Two variants over the same seeds: is one better, by how much, and how certain is that with so few seeds?

There are two tests: the paired t test and the exact sign-flip test. The exact test assumes only symmetry, but cannot
go below p = 2^(1-n): 0.25 for 3 seeds, 0.06 for 5, 0.03 for 6, so that alone it finds nothing in a study of the usual
size. The t test assumes that differences are about normally distributed, which so few seeds cannot show: where training
either works or fails, equal variants differ by chance on all of 3 seeds in up to 3 % of comparisons, with a very small
p. So a difference holds only if the t test says so and the exact test, as far as it can, does not contradict it.

The interval contains every mean difference that the two tests do not both reject, so it excludes 0 exactly where the
difference holds. It is the t interval; the exact test widens it only if there are five seeds or more and they disagree.
Several comparisons share the 5 % of errors evenly (Bonferroni), in tests and intervals: in 95 % of studies all
intervals cover the true differences at once. A bootstrap of so few values covers less than it claims (75 % at 3 seeds).
"""

import functools
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import gammaln, stdtr, stdtrit

LEVEL = 0.05
LEAST_PAIRS = 3  # for a test
ALL_FLIPS = 14  # pairs up to which all 2^n sign flips are made; beyond, as many are drawn
ROUNDING = 1e-9  # a difference below this share of the scores is a tie


@dataclass(frozen=True)
class Paired:
    """One variant against another, positive is better; NaN where too few pairs or equal differences allow no test."""

    pairs: int
    wins: int
    ties: int
    losses: int
    difference: float = np.nan
    effect: float = np.nan  # the mean over the standard deviation of the differences, with Hedges' correction
    p: float = np.nan
    p_exact: float = np.nan
    p_least: float = np.nan  # the smallest p of an exact test with so many pairs
    differences: tuple[float, ...] = ()

    @property
    def is_supported(self) -> bool:
        """Whether the exact test is as small as it can be, or small enough."""
        return self.p_exact <= max(LEVEL, self.p_least)

    def interval(self, comparisons: int = 1) -> tuple[float, float]:
        """The interval of the mean difference, as one of several comparisons; NaN where there is no t test."""
        return (np.nan, np.nan) if np.isnan(self.effect) else interval(np.array(self.differences), comparisons)


def paired(scores: np.ndarray, others: np.ndarray, larger_is_better: bool = True) -> Paired:
    """Compare two rows of scores, one column per seed, over the seeds that have both."""
    both = np.isfinite(scores) & np.isfinite(others)
    return _paired(tuple(scores[both].tolist()), tuple(others[both].tolist()), larger_is_better)


@functools.lru_cache(maxsize=100_000)  # tables and page need the same comparisons
def _paired(ours: tuple[float, ...], theirs: tuple[float, ...], larger_is_better: bool) -> Paired:
    scores, others = np.array(ours), np.array(theirs)
    n = len(scores)
    if not n:
        return Paired(0, 0, 0, 0)
    rounding = ROUNDING * max(np.abs(scores).max(), np.abs(others).max())
    differences = scores - others if larger_is_better else others - scores
    differences = np.where(np.abs(differences) <= rounding, 0.0, differences)
    wins, losses = int((differences > 0).sum()), int((differences < 0).sum())
    mean = float(differences.mean())
    told = tuple(differences.tolist())
    found = Paired(n, wins, n - wins - losses, losses, mean if abs(mean) > rounding else 0.0, differences=told)
    if n < LEAST_PAIRS:
        return found
    exact = sign_flip(differences)
    found = replace(found, p=exact, p_exact=exact, p_least=2.0 ** (1 - n))
    spread = float(differences.std(ddof=1))
    if spread <= rounding:  # no t test, no effect size; an interval would suggest certainty
        return found
    p = 2 * float(stdtr(n - 1, -abs(mean) / (spread / np.sqrt(n))))
    return replace(found, p=p, effect=mean / spread * hedges(n - 1))


def interval(differences: np.ndarray, comparisons: int = 1) -> tuple[float, float]:
    """The t interval of the mean, one of so many that share the level, widened by what the exact test accepts."""
    n, mean = len(differences), float(differences.mean())
    reach = -float(stdtrit(n - 1, LEVEL / 2 / comparisons)) * float(differences.std(ddof=1)) / np.sqrt(n)
    low, high = unflipped(differences)
    return min(mean - reach, low), max(mean + reach, high)


def unflipped(differences: np.ndarray) -> tuple[float, float]:
    """The ends of the means that the exact test does not reject as far as it can.

    Below the mean, flipping the signs of some differences makes their sum no smaller as soon as the hypothetical mean
    reaches that of the flipped or of the other ones: so the ends are such means, the outermost left out.
    """
    n = len(differences)
    flipped = (1 - _flips(n)) / 2
    flipped = flipped[(flipped.sum(1) > 0) & (flipped.sum(1) < n)]  # flipping none or all never makes it smaller
    trivial = len(_flips(n)) - len(flipped)
    means = np.stack([some @ differences / some.sum(1) for some in (flipped, 1 - flipped)])
    beyond = int(max(LEVEL, 2.0 ** (1 - n)) * len(_flips(n)) + ROUNDING) - trivial  # of these it may reject so many
    rounding = ROUNDING * np.abs(differences).max()
    return float(np.sort(means.min(0))[beyond] - rounding), float(-np.sort(-means.max(0))[beyond] + rounding)


def sign_flip(differences: np.ndarray) -> float:
    """Two-sided: in which share of all choices of signs is the sum at least as far from zero?"""
    sums = np.abs(_flips(len(differences)) @ differences)
    return float((sums >= sums[0] - ROUNDING * np.abs(differences).sum()).mean())


def hedges(freedom: int) -> float:
    """The factor that makes Cohen's d unbiased in small samples."""
    return float(np.exp(gammaln(freedom / 2) - gammaln((freedom - 1) / 2)) / np.sqrt(freedom / 2))


@functools.cache
def _flips(n: int) -> np.ndarray:
    """Signs, those that change nothing first. Shape: -> [flips, n]"""
    if n <= ALL_FLIPS:
        bits = np.arange(2**n)[:, None] >> np.arange(n) & 1
    else:
        bits = np.random.default_rng(0).integers(0, 2, (2**ALL_FLIPS, n))
        bits[0] = 0
    return 1.0 - 2.0 * bits
