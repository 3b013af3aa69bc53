"""What a comparison of two variants has shown, and at which number of seeds it was decided.

All comparisons with the base share an error of 5 % evenly (Bonferroni). Where a study looks at its scores several
times (`study.seeds = 'until_decided'`), each look may spend 40 % of what is left of it, so that looks can be added
later without changing what was decided. So the probability that a report calls variants different from the base that
are equal to it stays below 5 %, whatever the comparisons and the looks have in common, as far as each t test keeps its
level. The tests of the variants with the best means against their rivals (`statistics.leaders`) are a family of their
own, which shares another 5 %. If a study asks for all pairs, they are one family with the comparisons with the base.

Comparisons with the base are not corrected after Holm, because their simultaneous intervals would then not agree with
the verdicts. The first look that decides counts, and later ones do not change it. Its intervals are those of the level
that this look may spend: such intervals cover the true differences at all looks at once in 95 % of studies (repeated
confidence intervals, Jennison and Turnbull).

No test sees a failure that did not occur: if a variant fails on few seeds, all others may look the same. So variants
are called equivalent with at least 10 seeds only, on which a failure of every fourth seed would have shown (in 94 % of
studies). Rarer failures may be missed; `unseen` says how rare.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np

from gredkit.reports.samples import LEVEL, Samples

FEWEST = 5  # seeds with which something is decided
LEAST = 3  # seeds with which something is tested
ENOUGH = 10  # seeds with which variants can be called equivalent
SPENT = 0.4  # the part of the error that is left which each look may spend


class Verdict(str, Enum):
    """What is known about a difference; the values are words for readers.

    different: the 95 % interval excludes 0
    equivalent: the 90 % interval lies within the margin (and the 95 % interval has 0), over at least ten seeds of which
        none diverged
    open: neither is shown
    suggested: the 95 % interval excludes 0, but there are fewer than five seeds
    untested: there are fewer than three seeds
    """

    DIFFERENT = "different"
    EQUIVALENT = "equivalent"
    OPEN = "open"
    SUGGESTED = "suggested"
    UNTESTED = "untested"

    __str__ = str.__str__

    @property
    def is_decided(self) -> bool:
        return self in (Verdict.DIFFERENT, Verdict.EQUIVALENT)


@dataclass(frozen=True)
class Look:
    """A comparison at one number of seeds."""

    samples: Samples | None  # None if one of the two has no score
    seeds: int  # of the look; 0 if all seeds are used at once
    share: float = 1.0  # of the error that it may spend
    flattered: bool = False  # the better variant diverged on some seed, which its mean does not show
    diverged: bool = False  # one of the two did: they may differ, but they are not equivalent
    left_out: int = 0  # trials without a score; if the test is paired, seeds or folds that one of the two lacks
    is_complete: bool = True  # otherwise it decides nothing


@dataclass(frozen=True)
class Decision:
    """The look that counts, and what it says as one of several comparisons."""

    verdict: Verdict
    look: Look
    level: float  # its two-sided level of errors
    p: float  # over all looks so far, as if it were the only comparison
    low: float = np.nan
    high: float = np.nan
    equivalence_low: float = np.nan
    equivalence_high: float = np.nan


def share_of(look: int) -> float:
    """The part of the error that a look may spend; looks are counted from 0."""
    return SPENT * (1 - SPENT) ** look


def unseen(n: int) -> float:
    """How large a share of seeds may fail if none of n has: with a larger one, a failure shows in 95 % of studies."""
    return 1.0 - float(LEVEL ** (1 / n))


def shares(looks: Sequence[int]) -> list[float]:
    """The part of the error that each look may spend."""
    return [share_of(look) for look in range(len(looks))]


def decided(looks: Sequence[Look], comparisons: int, margin: float) -> Decision:
    """The first look that decides, or the last one."""
    p, found = np.nan, None
    for look in looks:
        found = _at(look, LEVEL * look.share / comparisons, margin, p)
        p = found.p
        if found.verdict.is_decided:
            break
    assert found is not None, "a comparison has at least one look"
    return found


def _at(look: Look, level: float, margin: float, before: float) -> Decision:
    samples = look.samples
    if samples is None or samples.n < LEAST:
        return Decision(Verdict.UNTESTED, look, level, before)
    p = float(np.fmin(before, np.minimum(1.0, samples.p / look.share)))  # valid for the looks so far, by their union
    if look.flattered:
        return Decision(Verdict.OPEN, look, level, p)
    low, high = samples.interval(level)
    within = samples.interval(2 * level)
    is_different = low > 0 or high < 0
    if samples.n < FEWEST or not look.is_complete:
        verdict = Verdict.SUGGESTED if is_different else Verdict.OPEN
    elif is_different:
        verdict = Verdict.DIFFERENT
    else:
        is_equivalent = -margin < within[0] and within[1] < margin and not look.diverged and samples.n >= ENOUGH
        verdict = Verdict.EQUIVALENT if is_equivalent else Verdict.OPEN
    return Decision(verdict, look, level, p, low, high, *within)
