"""How a claim of the paper ends here, on one dataset and as a whole."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from gredkit.reports.verdicts import FEWEST


class Outcome(str, Enum):
    """The values are words for readers.

    reproduced: every comparison that the claim needs is shown to go its way
    contradicted: the opposite is shown
    not at this budget: neither
    not run: there is nothing to compare
    """

    REPRODUCED = "reproduced"
    CONTRADICTED = "contradicted"
    NOT_YET = "not at this budget"
    NOT_RUN = "not run"

    __str__ = str.__str__


@dataclass(frozen=True)
class Part:
    """What a claim comes to on one dataset.

    is_suggested: fewer than five seeds have shown it, with which nothing is decided
    ours: our scores with their spread. why: the comparisons in words, or what is missing
    budget, paper_budget: what our training and the paper's took
    """

    where: str
    outcome: Outcome
    is_suggested: bool = False
    ours: str = ""
    why: str = ""
    budget: str = ""
    paper_budget: str = ""

    @property
    def verdict(self) -> str:
        return in_words(self.outcome, self.is_suggested)


def in_words(outcome: Outcome, is_suggested: bool) -> str:
    """`reproduced`, or `reproduced (only suggested: fewer than 5 seeds)`."""
    return f"{outcome} (only suggested: fewer than {FEWEST} seeds)" if is_suggested else str(outcome)


def whole(parts: Sequence[Part]) -> tuple[Outcome, bool]:
    """A claim is reproduced if it is on each dataset, and contradicted if it is on one; and whether that is suggested.

    A part that was not run keeps the whole from being reproduced.
    """
    contradicted = [part for part in parts if part.outcome == Outcome.CONTRADICTED]
    if contradicted:
        return Outcome.CONTRADICTED, all(part.is_suggested for part in contradicted)
    found = {part.outcome for part in parts}
    if found == {Outcome.REPRODUCED}:
        return Outcome.REPRODUCED, any(part.is_suggested for part in parts)
    return (Outcome.NOT_RUN if found <= {Outcome.NOT_RUN} else Outcome.NOT_YET), False
