"""The variance of scores, divided among the terms of a design and the seeds.

A score is the sum of its combination, its seed and what is left: y_cs = m_c + b_s + e_cs. The sum of squares of a term
of m_c is of type II: what the term explains beyond all terms that do not contain it, and beyond the seeds. That is
defined where trials are missing, too; where none is, it is the usual one. Noise gives every term a sum of squares of
its degrees of freedom times s² = SS_e / df_e, which is taken off:

    share of a term = (SS - df s²) / SS_all        share of the seeds = 1 - all these

SS_all is the sum of all parts. This is ε² of Kelley (1935), the parts of the adjusted R², so without any effect a
share is 0 on average, while SS / SS_all would give 20 % to the interaction of 4 and 5 values at 3 seeds.

Intervals are of a parametric bootstrap over seeds: a new seed is a random mixture (normal weights) of how the seeds
that ran differ from the mean in every combination, so it keeps the spread of each combination and what seeds have in
common; it is added to combinations whose parts are as large as their shares say. Resampling the seeds as they are
would give intervals that are far too short with few seeds: a resample of three repeats some, which hides their spread.
These are approximate, too: with few seeds many are too short (docs/reports.md has numbers).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

DRAWS, AT_ONCE = 1000, 100
ENDS = (0.025, 0.975)
LEAST = 3  # seeds for an interval
ROUNDING = 1e-9


@dataclass(frozen=True)
class Part:
    """One part of the variance; low and high are the ends of its interval."""

    freedom: int
    squares: float
    share: float
    low: float = np.nan
    high: float = np.nan


@dataclass(frozen=True)
class Divided:
    """The parts of all terms, of the interactions that are no terms, and of the seeds; these sum to 1.

    alike: the part of the seeds that is the same in all combinations, which pairing by seed takes out
    """

    terms: list[Part]
    rest: Part
    seeds: Part
    alike: Part


class NotDivided(ValueError):
    """The trials do not determine the parts; the message says why."""


def divide(
    columns: Sequence[np.ndarray], inside: Sequence[Sequence[int]], scores: np.ndarray, draws: int = DRAWS
) -> Divided:
    """Divide the variance of the scores of one dataset.

    columns: of each term, its contrasts. Shape: [combinations, freedom]
    inside: for each term the places of the terms that contain it
    scores: NaN where there is none. Shape: [seeds, combinations]
    """
    _check(scores)
    spread = np.nanstd(scores)
    if spread <= ROUNDING * np.nanmax(np.abs(scores)):
        raise NotDivided("all scores are equal")
    scores = (scores - np.nanmean(scores)) / spread
    order = np.where(np.isnan(scores), np.inf, scores.round(6)).T[::-1]
    scores = scores[np.lexsort(order)]  # so that the names of the seeds do not matter
    sums = _Sums(columns, inside, ~np.isnan(scores))
    squares = sums(scores[sums.known][None])
    shares = sums.shares(squares)
    low, high = (
        _intervals(sums, columns, scores, squares[0], draws) if len(scores) >= LEAST else np.full((2, 1), np.nan)
    )
    parts = [
        Part(int(freedom), float(part), float(share), float(a), float(b))
        for freedom, part, share, a, b in zip(
            [*sums.freedom[:-2], sums.freedom[-2:].sum(), sums.freedom[-2]],
            [*squares[0, :-2], squares[0, -2:].sum(), squares[0, -2]],
            shares[0],
            *(np.broadcast_to(end, shares.shape[1]) for end in (low, high)),
            strict=True,
        )
    ]
    *terms, rest, seeds, alike = parts
    return Divided(terms, rest, seeds, alike)


def _check(scores: np.ndarray) -> None:
    known = ~np.isnan(scores)
    if len(scores) < 2 or known.sum() <= scores.shape[1] + len(scores) - 1:
        raise NotDivided("it takes two seeds to tell a difference from chance")
    if not known.any(0).all():
        raise NotDivided("a combination has no score")


class _Sums:
    """The sums of squares of all terms, the rest, the seeds alike and what is left, of any scores at the same places.

    Each is the squared length of the scores in a space of its own, given by an orthonormal basis.
    """

    def __init__(self, columns: Sequence[np.ndarray], inside: Sequence[Sequence[int]], known: np.ndarray) -> None:
        self.known = known
        seeds, cells = np.nonzero(known)
        of_seeds = np.eye(known.shape[0])[seeds]
        self.cells, self.counts = cells, known.sum(0)
        here = [column[cells] for column in columns]
        is_whole = known.all()
        self.terms = []
        for place, mine in enumerate(here):
            others = [other for i, other in enumerate(here) if i != place and i not in inside[place]]
            self.terms.append(_basis(mine if is_whole else _beside(mine, np.hstack([of_seeds, *others]))))
        self.low = _basis(np.hstack([of_seeds, *here]))
        self.alike = _basis(of_seeds - self._means(of_seeds.T).T)
        freedom = [basis.shape[1] for basis in self.terms]
        if freedom != [column.shape[1] for column in columns] or self.alike.shape[1] != known.shape[0] - 1:
            raise NotDivided("too many trials are missing to tell its parts from each other")
        all_cells = known.shape[1] + known.shape[0] - 1
        self.freedom = np.array(
            [*freedom, all_cells - self.low.shape[1], self.alike.shape[1], len(cells) - all_cells], dtype=int
        )

    def __call__(self, scores: np.ndarray) -> np.ndarray:
        """Shape: [draws, trials] -> [draws, terms + 3]"""
        parts = [((scores @ basis) ** 2).sum(1) for basis in self.terms]
        alike = ((scores @ self.alike) ** 2).sum(1)
        left = ((scores - self._means(scores)) ** 2).sum(1) - alike
        rest = (scores**2).sum(1) - ((scores @ self.low) ** 2).sum(1) - left
        if not self.freedom[-3]:
            rest = np.zeros_like(rest)
        return np.column_stack([*parts, rest, alike, left]).clip(min=0.0)

    def shares(self, squares: np.ndarray) -> np.ndarray:
        """Of the terms, the rest, the seeds, and the seeds alike. Shape: [draws, terms + 3] -> [draws, terms + 3]"""
        noise = squares[:, -1:] / self.freedom[-1]
        shares = (squares[:, :-1] - self.freedom[:-1] * noise) / squares.sum(1, keepdims=True)
        return np.column_stack([shares[:, :-1], 1 - shares[:, :-1].sum(1), shares[:, -1]])

    def _means(self, scores: np.ndarray) -> np.ndarray:
        """The mean of its combination in the place of each score. Shape: [draws, trials] -> [draws, trials]"""
        order = np.argsort(self.cells, kind="stable")
        starts = np.r_[0, np.cumsum(self.counts)[:-1]]
        return (np.add.reduceat(scores[:, order], starts, axis=1) / self.counts)[:, self.cells]


def _intervals(
    sums: _Sums, columns: Sequence[np.ndarray], scores: np.ndarray, squares: np.ndarray, draws: int
) -> tuple[np.ndarray, np.ndarray]:
    """The ends of the intervals of all shares."""
    chance = np.random.default_rng(0)
    seeds, noise = len(scores), squares[-1] / sums.freedom[-1]
    of_cells, deviations = _fitted(scores)
    kept = np.sqrt(np.clip(1 - sums.freedom * noise / np.maximum(squares, ROUNDING**2), 0, 1))
    means = np.zeros(scores.shape[1])
    left = of_cells - of_cells.mean()
    for column, factor in zip(columns, kept, strict=False):
        basis = _basis(column)
        own = basis @ (basis.T @ of_cells)
        means, left = means + factor * own, left - own
    means += kept[-3] * left
    counts = sums.counts
    spread = np.where(counts > 1, 1 / np.sqrt(np.maximum(counts - 1, 1)), 0.0)
    alone = np.sqrt(noise) * (counts == 1)  # one score shows no spread, so it has that of the others
    found = []
    for _ in range(0, draws, AT_ONCE):
        mixed = chance.standard_normal((AT_ONCE, seeds, seeds)) @ (deviations * spread)
        mixed += alone * chance.standard_normal((AT_ONCE, *scores.shape))
        found.append(sums.shares(sums((means + mixed)[:, sums.known])))
    low, high = np.quantile(np.concatenate(found), ENDS, axis=0)
    return low, high


def _fitted(scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The mean of each combination, as if every seed had run in it, and how each score differs; 0 where there is none.

    Shape: [seeds, combinations] -> [combinations], [seeds, combinations]
    """
    known = ~np.isnan(scores)
    seeds, cells = np.nonzero(known)
    dummies = np.hstack([np.eye(scores.shape[1])[cells], np.eye(len(scores))[seeds]])
    solved = np.linalg.lstsq(dummies, scores[known], rcond=None)[0]
    of_cells, of_seeds = solved[: scores.shape[1]], solved[scores.shape[1] :]
    of_cells = of_cells + of_seeds.mean()
    return of_cells, np.where(known, scores - of_cells, 0.0)


def _beside(columns: np.ndarray, others: np.ndarray) -> np.ndarray:
    """What of the columns the others do not explain."""
    basis = _basis(others)
    return columns - basis @ (basis.T @ columns)


def _basis(columns: np.ndarray) -> np.ndarray:
    """An orthonormal basis of the space of some columns."""
    if not columns.shape[1]:
        return columns
    left, sizes, _ = np.linalg.svd(columns, full_matrices=False)
    return left[:, sizes > ROUNDING * max(sizes.max(), 1.0)]
