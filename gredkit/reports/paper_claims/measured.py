"""Rules about other things than test scores: fitted trees, eigenvalues, times and memory."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from gredkit.reports.paper_claims.evidence import Found, budgets, means, variants
from gredkit.reports.paper_claims.outcome import Outcome, Part
from gredkit.reports.paper_claims.rules import Rule, part_of
from gredkit.reports.paper_claims.shown import compare, outcome_of
from gredkit.reports.study import StudyData
from gredkit.reports.timing import why_no_times
from gredkit.reports.verdicts import FEWEST, LEAST
from gredkit.trials.state import TrialState


@dataclass(frozen=True)
class Fits(Rule):
    """A model fits its training graphs where another one fails.

    fits: the smallest mean training accuracy of each variant that the paper's printed number allows
    fails: the variant that cannot fit, and `beside`, the one that must be shown to be better; `control` is the other
    model at the same width, which must be shown to be worse too, so that the difference is not one of width
    Contradicted if `fails` fits on each of at least three seeds.
    """

    fits: tuple[tuple[str, float], ...]
    beside: str
    fails: str
    control: str
    fitted: float = 0.995

    @property
    def comparisons(self) -> int:
        return 2

    def part(self, found: Found, tests: int) -> Part:
        trials = found.trials
        if len(trials):
            trials = trials.assign(score=pd.to_numeric(trials["train"], errors="coerce").where(trials["score"].notna()))
        there = variants(trials)
        pairs = [(self.beside, other) for other in (self.fails, self.control)]
        shown = [compare(trials, *pair, tests) for pair in pairs if set(pair) <= there]
        below = [name for name, least in self.fits if name in there and _mean(trials, name) < least]
        is_whole = all(name in there for name, _ in self.fits) and not below
        outcome, is_suggested = outcome_of(shown, is_whole and len(shown) == len(pairs))
        of_other = trials.loc[trials["variant"] == self.fails, "score"].dropna()
        if len(of_other) >= LEAST and of_other.min() >= self.fitted:
            outcome, is_suggested = Outcome.CONTRADICTED, len(of_other) < FEWEST
        names = [*(name for name, _ in self.fits), self.fails, self.control]
        more = f"not fitted at this budget: {', '.join(below)}" if below else ""
        return replace(part_of(found, trials, names, outcome, is_suggested, shown, more), paper_budget="not published")


def _mean(trials: pd.DataFrame, variant: str) -> float:
    return float(trials.loc[trials["variant"] == variant, "score"].mean())


@dataclass(frozen=True)
class Magnitudes(Rule):
    """Eigenvalues of the first layer are closer to 1 on the first dataset than on the second.

    Of each seed the mean of |λ| over the layer counts. They start apart, because the published code starts them so:
    reproduced only if training also moves them further apart. Contradicted if they are smaller on the first dataset.
    """

    variant: str

    @property
    def comparisons(self) -> int:
        return 1  # of each of two needs: after training, and what training changed

    def parts(self, found: Sequence[Found]) -> list[Part]:
        ahead, behind = found
        of = {one.name: _magnitudes(one.study, one.name, self.variant) for one in found}
        where = f"{ahead.label} and {behind.label}"
        here, papers = zip(*(budgets(one.trials, one.need.dataset) for one in found), strict=True)
        budget, paper_budget = ("; ".join(dict.fromkeys(filter(None, told))) for told in (here, papers))
        missing = [one.need.study for one in found if of[one.name].empty]
        if missing:
            why = f"no eigenvalues of {' and '.join(missing)}"
            return [Part(where, Outcome.NOT_RUN, why=why, paper_budget=paper_budget)]
        after, start, moved = (_frame(of, moment) for moment in ("end", "start", "moved"))
        tests = self.comparisons * len(found)
        at_end, by_training = (compare(frame, ahead.name, behind.name, tests) for frame in (after, moved))
        outcome, is_suggested = outcome_of([at_end], by_training.holds)
        if outcome == Outcome.REPRODUCED:
            is_suggested = is_suggested or by_training.is_suggested
        why = f"after training {at_end.said()}; change by training: {by_training.said()}"
        ours = f"mean |λ|: {means(after, of)}; before training {means(start, of)}"
        return [Part(where, outcome, is_suggested, ours, why, budget, paper_budget)]

    def part(self, found: Found, tests: int) -> Part:
        raise NotImplementedError("it compares two datasets")


def _magnitudes(study: StudyData | None, dataset: str, variant: str) -> pd.DataFrame:
    """The mean |λ| of the first layer before and after training, and the change, by seed."""
    rows = StudyData("").eigenvalues if study is None else study.eigenvalues
    rows = rows[(rows["dataset"] == dataset) & (rows["variant"] == variant) & (rows["layer"] == 0)]
    sizes = np.hypot(rows["real"].astype(float), rows["imag"].astype(float))
    found = sizes.groupby([rows["seed"], rows["moment"]]).mean().unstack().dropna()
    return found.assign(moved=found["end"] - found["start"]) if {"start", "end"} <= {*found} else pd.DataFrame()


def _frame(of: dict[str, pd.DataFrame], moment: str) -> pd.DataFrame:
    """One row per dataset and seed, with the datasets in the place of variants."""
    rows = [
        {"variant": name, "seed": seed, "score": value, "state": TrialState.FINISHED.value, "parameters": place}
        for place, (name, found) in enumerate(of.items())
        for seed, value in found[moment].items()
    ]
    return pd.DataFrame(rows).assign(metric="|λ|", larger_is_better=True)


@dataclass(frozen=True)
class Cheaper(Rule):
    """A model takes less time and less memory than each of the others."""

    model: str
    others: tuple[str, ...]

    @property
    def comparisons(self) -> int:
        return 2 * len(self.others)

    def part(self, found: Found, tests: int) -> Part:
        trials = found.trials
        names = (self.model, *self.others)
        scored = trials[trials["score"].notna()]
        if why := why_no_times(scored):
            return replace(part_of(found, trials, names, Outcome.NOT_RUN, False, []), ours="", why=why)
        costs = {
            unit: trials.assign(
                score=pd.to_numeric(trials[column], errors="coerce").where(trials["score"].notna()),
                metric=unit, larger_is_better=False,
            )
            for unit, column in (("seconds per epoch", "seconds_per_epoch"), ("MB", "peak_mb"))
            if column in trials
        }  # fmt: skip
        there = variants(trials)
        pairs = [(self.model, other) for other in self.others if {self.model, other} <= there]
        by_cost = {unit: [compare(frame, *pair, tests) for pair in pairs] for unit, frame in costs.items()}
        shown = [one for some in by_cost.values() for one in some]
        outcome = outcome_of(shown, len(shown) == self.comparisons)
        why = "; ".join(f"{unit}: {', '.join(one.said() for one in some)}" for unit, some in by_cost.items() if some)
        part = part_of(found, trials, names, *outcome, [], why)
        told = [f"{unit}: {means(frame, names)}" for unit, frame in costs.items()]
        return replace(part, ours="; ".join(told) if there else "", paper_budget="one RTX A5000")
