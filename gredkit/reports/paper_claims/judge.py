"""Every claim with its verdict."""

from collections.abc import Sequence
from dataclasses import dataclass

from gredkit.reports.paper_claims.claims import CLAIMS, Claim
from gredkit.reports.paper_claims.evidence import Found, Studies
from gredkit.reports.paper_claims.outcome import Outcome, Part, in_words, whole


@dataclass(frozen=True)
class Judged:
    """A claim, what it comes to on each dataset, and as a whole."""

    claim: Claim
    parts: tuple[Part, ...]
    outcome: Outcome
    is_suggested: bool

    @property
    def verdict(self) -> str:
        return in_words(self.outcome, self.is_suggested)


def judged(studies: Studies, claims: Sequence[Claim] = CLAIMS) -> list[Judged]:
    """The claims in their order; `studies` are those that were run, by name."""
    found = []
    for claim in claims:
        parts = tuple(claim.rule.parts([Found(need, studies.get(need.study)) for need in claim.needs]))
        found.append(Judged(claim, parts, *whole(parts)))
    return found
