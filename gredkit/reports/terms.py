"""The terms of a design: each factor, each pair of factors, and which of them the trials cannot tell apart."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from gredkit.config.fractions import shortest_words
from gredkit.reports.factors import WITH, Design, Factor


@dataclass(frozen=True)
class Term:
    """A factor or an interaction.

    factors: their places, of one factor or of two
    columns: contrasts. Shape: [combinations, freedom]
    confounded: names of pairs of factors that cannot be told from it
    """

    name: str
    factors: frozenset[int]
    columns: np.ndarray
    confounded: tuple[str, ...] = ()

    @property
    def is_main(self) -> bool:
        return len(self.factors) == 1


def terms(design: Design) -> list[Term]:
    """The factors, then their pairs; of pairs that are confounded only the first one, which names the others."""
    contrasts = [_contrasts(factor)[design.points[:, place]] for place, factor in enumerate(design.factors)]
    found = [
        Term(factor.name, frozenset({place}), contrasts[place]) for place, factor in enumerate(design.factors)
    ]  # fmt: skip
    for one, other in combinations(range(len(contrasts)), 2):
        columns = (contrasts[one][:, :, None] * contrasts[other][:, None]).reshape(len(design.points), -1)
        term = Term(pair_name(design, one, other), frozenset({one, other}), columns)
        same = None if design.is_full else _same(term, found)
        if same is None:
            found.append(term)
        else:
            known = found[same]
            found[same] = Term(known.name, known.factors, known.columns, (*known.confounded, term.name))
    return found


def inside(found: Sequence[Term]) -> list[list[int]]:
    """For each term the places of the terms that contain it."""
    return [[place for place, other in enumerate(found) if term.factors < other.factors] for term in found]


def pair_name(design: Design, one: int, other: int) -> str:
    return f"{design.factors[one].name}{WITH}{design.factors[other].name}"


def resolution(design: Design) -> int:
    """The length of the shortest word of a fraction; 0 if it is longer than six."""
    bits = [_as_bits(column ^ column[0]) for column in design.points.T]
    words = shortest_words(bits)
    return len(words[0]) if words else 0


def _as_bits(column: np.ndarray) -> int:
    return int("".join(map(str, column)), 2)


def _contrasts(factor: Factor) -> np.ndarray:
    """Orthogonal contrasts of the levels, -1 and 1 of a switch. Shape: [levels, levels - 1]"""
    levels = len(factor.levels)
    helmert = np.tril(np.ones((levels, levels - 1)), -1) * np.arange(1, levels)
    return -np.triu(np.ones((levels, levels - 1))) + np.where(np.eye(levels, k=-1)[:, :-1] > 0, helmert, 0.0)


def _same(term: Term, known: Sequence[Term]) -> int | None:
    """The place of the term that has the same contrast, but for its sign."""
    for place, other in enumerate(known):
        if other.columns.shape[1] == 1 and abs(float(other.columns[:, 0] @ term.columns[:, 0])) == len(term.columns):
            return place
    return None
