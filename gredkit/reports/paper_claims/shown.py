"""One comparison that a claim needs: which of two variants is shown to be better."""

from dataclasses import dataclass

import pandas as pd

from gredkit.reports.comparing import Facts, decision, note
from gredkit.reports.numbers import significant
from gredkit.reports.pairing import scores_by_variant
from gredkit.reports.paper_claims.outcome import Outcome
from gredkit.reports.verdicts import Decision, Verdict


@dataclass(frozen=True)
class Shown:
    """What the paper calls `better`, beside what it calls `worse`.

    is_far: whether the claim is that the difference is larger than the margin of what matters
    """

    better: str
    worse: str
    found: Decision
    margin: float
    is_far: bool = False

    @property
    def is_suggested(self) -> bool:
        return self.found.verdict == Verdict.SUGGESTED

    @property
    def _is_different(self) -> bool:
        return self.found.verdict in (Verdict.DIFFERENT, Verdict.SUGGESTED)

    @property
    def holds(self) -> bool:
        """Whether it is as the paper says."""
        return self._is_different and self.found.low > (self.margin if self.is_far else 0)

    @property
    def fails(self) -> bool:
        """Whether the opposite is shown."""
        return self._is_different and self.found.high < 0

    def said(self) -> str:
        """`lru beats rnn by 0.031 (0.020 to 0.042), different`."""
        samples = self.found.look.samples
        if samples is None:
            return f"{self.better} and {self.worse} cannot be compared: {note(self.found)}"
        ahead, behind = (self.better, self.worse) if samples.difference >= 0 else (self.worse, self.better)
        by = f"by {significant(abs(samples.difference))}"
        if not self._is_different:
            has_reason = self.found.verdict == Verdict.UNTESTED or self.found.look.flattered
            return f"{ahead} is ahead of {behind} {by}, {note(self.found) if has_reason else self.found.verdict}"
        ends = sorted(abs(end) for end in (self.found.low, self.found.high))
        far = f", margin {significant(self.margin, 2)}" if self.is_far else ""
        return (
            f"{ahead} beats {behind} {by} ({significant(ends[0])} to {significant(ends[1])}{far}), {self.found.verdict}"
        )


def compare(trials: pd.DataFrame, better: str, worse: str, tests: int, is_far: bool = False) -> Shown:
    """Compare two variants by the `score` of their trials on one dataset, as one of so many comparisons."""
    found, margin = decision(scores_by_variant(trials), better, worse, Facts.of(trials), tests)
    return Shown(better, worse, found, margin, is_far)


def outcome_of(comparisons: list[Shown], is_complete: bool) -> tuple[Outcome, bool]:
    """Reproduced if all hold and none is missing, contradicted if one fails; and whether that is only suggested."""
    failed = [one for one in comparisons if one.fails]
    if failed:
        return Outcome.CONTRADICTED, all(one.is_suggested for one in failed)
    if comparisons and is_complete and all(one.holds for one in comparisons):
        return Outcome.REPRODUCED, any(one.is_suggested for one in comparisons)
    return (Outcome.NOT_YET if comparisons else Outcome.NOT_RUN), False
