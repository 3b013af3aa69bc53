"""How scores become a verdict: one class per kind of claim.

All comparisons that a claim plans share an error of 5 % (Bonferroni), whether all of them were run or not.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

import pandas as pd

from gredkit.reports.numbers import DOWN, UP, metric_name
from gredkit.reports.paper_claims.evidence import Found, budgets, means, variants
from gredkit.reports.paper_claims.outcome import Outcome, Part
from gredkit.reports.paper_claims.shown import Shown, compare, outcome_of


class Rule(ABC):
    """How a claim is judged."""

    @property
    @abstractmethod
    def comparisons(self) -> int:
        """How many comparisons it makes of one need."""

    def parts(self, found: Sequence[Found]) -> list[Part]:
        """One part per need."""
        return [self.part(one, self.comparisons * len(found)) for one in found]

    @abstractmethod
    def part(self, found: Found, tests: int) -> Part:
        """What the claim comes to on one dataset, if its comparisons are some of so many."""


@dataclass(frozen=True)
class Better(Rule):
    """One variant is better than each of the others; `is_far`: by more than the margin of what matters."""

    best: str
    others: tuple[str, ...]
    is_far: bool = False

    @property
    def comparisons(self) -> int:
        return len(self.others)

    def part(self, found: Found, tests: int) -> Part:
        return _of_pairs(found, [(self.best, other) for other in self.others], tests, self.is_far)


@dataclass(frozen=True)
class Worse(Rule):
    """One variant is worse than each of the others."""

    worst: str
    others: tuple[str, ...]

    @property
    def comparisons(self) -> int:
        return len(self.others)

    def part(self, found: Found, tests: int) -> Part:
        return _of_pairs(found, [(other, self.worst) for other in self.others], tests)


def _of_pairs(found: Found, pairs: Sequence[tuple[str, str]], tests: int, is_far: bool = False) -> Part:
    """All of these pairs of a better and a worse variant."""
    trials = found.trials
    names = list(dict.fromkeys(name for pair in pairs for name in pair))
    there = variants(trials)
    shown = [compare(trials, *pair, tests, is_far) for pair in pairs if set(pair) <= there]
    return part_of(found, trials, names, *outcome_of(shown, len(shown) == len(pairs)), shown)


@dataclass(frozen=True)
class Inside(Rule):
    """The best of ordered variants is neither the first nor the last one.

    Reproduced if one between them is shown to be better than both ends; contradicted if one end is shown to be better
    than all between them.
    """

    order: tuple[str, ...]

    @property
    def comparisons(self) -> int:
        return 2 * (len(self.order) - 2)

    def part(self, found: Found, tests: int) -> Part:
        trials = found.trials
        there = variants(trials)
        first, *between, last = self.order
        shown = {
            name: [compare(trials, name, end, tests) for end in (first, last)]
            for name in between
            if {first, last, name} <= there
        }
        of_part = partial(part_of, found, trials, self.order)
        winners = [both for both in shown.values() if all(one.holds for one in both)]
        if winners:
            suggested = [any(one.is_suggested for one in both) for both in winners]
            return of_part(Outcome.REPRODUCED, all(suggested), winners[suggested.index(all(suggested))])
        if len(shown) == len(between):
            for against_end in zip(*shown.values(), strict=True):
                if all(one.fails for one in against_end):
                    return of_part(Outcome.CONTRADICTED, any(one.is_suggested for one in against_end), against_end)
        best = _best(trials, list(shown))
        return of_part(Outcome.NOT_YET if shown else Outcome.NOT_RUN, False, shown[best] if best else [])


@dataclass(frozen=True)
class Rises(Rule):
    """The score rises along ordered variants.

    Reproduced if the last one is shown to be better than the first, and no mean is worse than the one before it;
    contradicted if an earlier one is shown to be better than the last.
    """

    order: tuple[str, ...]

    @property
    def comparisons(self) -> int:
        return len(self.order) - 1

    def part(self, found: Found, tests: int) -> Part:
        trials = found.trials
        there = variants(trials)
        *earlier, last = self.order
        shown = [compare(trials, last, name, tests) for name in earlier if {name, last} <= there]
        of_part = partial(part_of, found, trials, self.order)
        failed, is_suggested = outcome_of(shown, False)
        if failed == Outcome.CONTRADICTED:
            return of_part(failed, is_suggested, [one for one in shown if one.fails])
        if len(shown) == len(earlier) and shown[0].holds and _steps_down(trials, self.order) == "":
            return of_part(Outcome.REPRODUCED, shown[0].is_suggested, shown)
        return of_part(failed, False, shown, _steps_down(trials, [name for name in self.order if name in there]))


def _steps_down(trials: pd.DataFrame, order: Sequence[str]) -> str:
    """Where a mean is worse than the one before it."""
    of_variants = _signed(trials).groupby(trials["variant"]).mean()
    down = [f"{b} below {a}" for a, b in pairwise(order) if of_variants[b] < of_variants[a]]
    return f"means do not rise at every step: {', '.join(down)}" if down else ""


def _best(trials: pd.DataFrame, names: Sequence[str]) -> str:
    of_variants = _signed(trials).groupby(trials["variant"]).mean()
    return str(of_variants[list(names)].idxmax()) if names else ""


def _signed(trials: pd.DataFrame) -> pd.Series:
    """Scores of which larger is better."""
    is_larger = len(trials) == 0 or bool(trials["larger_is_better"].iloc[0])
    return trials["score"] if is_larger else -trials["score"]


def part_of(
    found: Found,
    trials: pd.DataFrame,
    names: Sequence[str],
    outcome: Outcome,
    is_suggested: bool,
    shown: Sequence[Shown],
    more: str = "",
) -> Part:
    """A part in words."""
    there = variants(trials)
    missing = [name for name in names if name not in there]
    lacks = ""
    if missing:
        lacks = f"{found.need.study} was not run" if not there else f"no score of {', '.join(missing)}"
    ours = ""
    if there:
        arrow = UP if bool(trials["larger_is_better"].iloc[0]) else DOWN
        ours = f"{metric_name(str(trials['metric'].iloc[0]))} {arrow}: {means(trials, names)}"
    why = "; ".join(filter(None, [*(one.said() for one in shown), more, lacks]))
    return Part(found.label, outcome, is_suggested, ours, why, *budgets(trials, found.need.dataset))
