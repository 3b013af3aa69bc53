"""Two variants over the same seeds: is one better, by how much, and how sure can so few seeds make us?

The interval is a percentile bootstrap of the mean difference, with its tails widened as a t interval is (Hesterberg
2015, "expanded percentile"). BCa would estimate a skewness from the three to ten values there are. No bootstrap mean
leaves the range of the differences, so with n pairs no such interval covers the true mean in more than 1 - 2^(1-n) of
all studies: 75 % for 3 seeds, 88 % for 4, 94 % for 5, whatever its name says.

The test is the paired t test, beside the exact sign-flip test. The latter assumes nothing but symmetry, yet cannot go
below p = 2^(1-n): 0.25 for 3 seeds, 0.06 for 5, 0.03 for 6, and so finds nothing in a study of the usual size. The
former assumes that differences are about normal, which so few seeds cannot show: where training either works or does
not, equal variants differ by chance on all of 3 seeds in up to 3 % of comparisons, with a p as small as one likes. So a
difference only holds if the t test says so and the exact test does not contradict it as far as it can.
"""

import functools
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import gammaln, ndtr, stdtr, stdtrit

LEVEL = 0.05
LEAST_PAIRS = 3  # for a test
RESAMPLES = 10_000
ALL_FLIPS = 14  # pairs up to which all 2^n sign flips are made; beyond, as many are drawn
ROUNDING = 1e-9  # a difference below this share of the scores is a tie


@dataclass(frozen=True)
class Paired:
    """A variant against another one, positive is better; NaN is what too few pairs or equal differences cannot tell."""

    pairs: int
    wins: int
    ties: int
    losses: int
    difference: float = np.nan
    low: float = np.nan
    high: float = np.nan
    effect: float = np.nan  # the mean over the standard deviation of the differences, with Hedges' correction
    p: float = np.nan
    p_exact: float = np.nan
    p_least: float = np.nan  # that an exact test can reach with so many pairs

    @property
    def is_supported(self) -> bool:
        """Whether the exact test is as small as it can be, or small enough."""
        return self.p_exact <= max(LEVEL, self.p_least)


def paired(scores: np.ndarray, others: np.ndarray, larger_is_better: bool = True) -> Paired:
    """Compare two rows of scores, a column a seed, over the seeds that have both."""
    both = np.isfinite(scores) & np.isfinite(others)
    return _paired(tuple(scores[both].tolist()), tuple(others[both].tolist()), larger_is_better)


@functools.lru_cache(maxsize=100_000)  # each table and the page ask again for the same comparisons
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
    found = Paired(n, wins, n - wins - losses, losses, mean if abs(mean) > rounding else 0.0)
    if n < LEAST_PAIRS:
        return found
    exact = sign_flip(differences)
    found = replace(found, p=exact, p_exact=exact, p_least=2.0 ** (1 - n))
    spread = float(differences.std(ddof=1))
    if spread <= rounding:  # then there is no t test, no standardised effect, and an interval would feign certainty
        return found
    low, high = interval(differences)
    p = 2 * float(stdtr(n - 1, -abs(mean) / (spread / np.sqrt(n))))
    return replace(found, low=low, high=high, p=p, effect=mean / spread * hedges(n - 1))


def interval(differences: np.ndarray) -> tuple[float, float]:
    """Expanded percentile bootstrap of the mean, the same draws each time."""
    n = len(differences)
    tail = float(ndtr(np.sqrt(n / (n - 1)) * stdtrit(n - 1, LEVEL / 2)))
    low, high = np.quantile(_resamples(n) @ differences, [tail, 1 - tail])
    return float(low), float(high)


def sign_flip(differences: np.ndarray) -> float:
    """Two-sided: in which share of all choices of signs is the sum at least as far from zero?"""
    sums = np.abs(_flips(len(differences)) @ differences)
    return float((sums >= sums[0] - ROUNDING * np.abs(differences).sum()).mean())


def hedges(freedom: int) -> float:
    """By what Cohen's d is multiplied to be unbiased in small samples."""
    return float(np.exp(gammaln(freedom / 2) - gammaln((freedom - 1) / 2)) / np.sqrt(freedom / 2))


def holm(p: np.ndarray) -> np.ndarray:
    """p-values corrected for being several, step by step; NaN is no test and stays."""
    tested = np.flatnonzero(~np.isnan(p))
    order = tested[np.argsort(p[tested], kind="stable")]
    corrected = np.full(len(p), np.nan)
    corrected[order] = np.minimum(1.0, np.maximum.accumulate(p[order] * np.arange(len(order), 0, -1)))
    return corrected


@functools.cache
def _resamples(n: int) -> np.ndarray:
    """How much each of n pairs weighs in each resample. Shape: -> [resamples, n]"""
    return np.random.default_rng(0).multinomial(n, np.full(n, 1 / n), RESAMPLES) / n


@functools.cache
def _flips(n: int) -> np.ndarray:
    """Signs, those that change nothing first. Shape: -> [flips, n]"""
    if n <= ALL_FLIPS:
        bits = np.arange(2**n)[:, None] >> np.arange(n) & 1
    else:
        bits = np.random.default_rng(0).integers(0, 2, (2**ALL_FLIPS, n))
        bits[0] = 0
    return 1.0 - 2.0 * bits
