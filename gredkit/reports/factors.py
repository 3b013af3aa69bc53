"""What a study crosses: its factors, and which of their combinations it has on each dataset.

A factor is an axis, or several axes that only change together: paired axes, named variants, an axis that applies only
where another one has a certain value. Factors are found in the trials themselves: two axes whose values do not all
meet belong to one factor.
"""

from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pandas as pd

from gredkit.reports.drawing.trials import LAST, axis_name, plain, written
from gredkit.reports.study import AXIS

VARIANT = "variant"  # what a factor of many axes is called
WITH = " \N{MULTIPLICATION SIGN} "


@dataclass(frozen=True)
class Factor:
    """Something that a study varies: its name, and its levels as text, that of the first variant first."""

    name: str
    levels: tuple[str, ...]


@dataclass(frozen=True)
class Design:
    """The combinations of one dataset.

    points: the level of each factor in each combination. Shape: [combinations, factors]
    variants: the label of each combination, that of the first variant first
    """

    factors: tuple[Factor, ...]
    points: np.ndarray
    variants: tuple[str, ...]

    @property
    def combinations(self) -> int:
        """How many there are of all levels."""
        return int(np.prod([len(factor.levels) for factor in self.factors]))

    @property
    def is_full(self) -> bool:
        return len(self.points) == self.combinations

    @property
    def signs(self) -> np.ndarray:
        """Of switches: -1 for the first level, 1 for the second. Shape: [combinations, factors]"""
        return 2 * self.points - 1


def design(results: pd.DataFrame, trials: pd.DataFrame) -> Design | None:
    """What is crossed in the compared trials of one dataset; None if nothing is.

    results: all trials of the dataset, also those that tuned
    """
    first = trials.drop_duplicates("variant")
    groups = [[name] for name in _varied(results, first)]
    values = {name: first[name].map(plain).to_list() for name in first if str(name).startswith(AXIS)}
    while (apart := _together(groups, values)) is not None:
        one, other = apart
        groups[one] = groups[one] + groups.pop(other)
    codes = [pd.factorize(pd.Series(_tuples(group, values), dtype=object))[0] for group in groups]
    if len(groups) < 2:
        return None
    variants = tuple(first["variant"].astype(str))
    points = np.column_stack(codes)
    names = _names(groups)
    factors = tuple(
        Factor(name, tuple(_levels(group, values, code, variants)))
        for name, group, code in zip(names, groups, codes, strict=True)
    )
    found = Design(factors, points, variants)
    return found if found.is_full or _is_fraction(found) else None


def _varied(results: pd.DataFrame, first: pd.DataFrame) -> Iterator[str]:
    """The axes along which variants differ; what each variant searched for itself is none."""
    for name in results.columns:
        if str(name).startswith(AXIS) and first[name].map(plain).nunique(dropna=False) > 1:
            own = results[name].map(plain).groupby(results["variant"]).nunique(dropna=False)
            if own.max() == 1:
                yield name


def _together(groups: list[list[str]], values: dict[str, list[Hashable]]) -> tuple[int, int] | None:
    """The places of two groups whose values do not all meet."""
    for one, other in combinations(range(len(groups)), 2):
        ours, theirs = _tuples(groups[one], values), _tuples(groups[other], values)
        if len(set(zip(ours, theirs, strict=True))) < len(set(ours)) * len(set(theirs)):
            return one, other
    return None


def _tuples(group: list[str], values: dict[str, list[Hashable]]) -> list[tuple[Hashable, ...]]:
    return list(zip(*(values[name] for name in group), strict=True))


def _is_fraction(design: Design) -> bool:
    """Whether all factors are switches, and each of their pairs is told apart wholly or not at all."""
    if any(len(factor.levels) != 2 for factor in design.factors):
        return False
    signs = design.signs
    pairs = [signs[:, one] * signs[:, other] for one, other in combinations(range(signs.shape[1]), 2)]
    products = np.column_stack([np.ones(len(signs)), signs, *pairs])
    overlaps = np.abs(products.T @ products)
    some = signs.shape[1] + 1
    is_whole = np.isin(overlaps, (0, len(signs))).all()
    return bool(is_whole and (overlaps[:some, :some] == len(signs) * np.eye(some)).all())


def _names(groups: list[list[str]]) -> list[str]:
    """The name of each group: that of its axes, or `variant` where they are many."""
    short = ["/".join(map(axis_name, group)) if len(group) <= 2 else VARIANT for group in groups]
    full = ["/".join(name.removeprefix(AXIS) for name in group) for group in groups]
    return [name if short.count(name) == 1 else long for name, long in zip(short, full, strict=True)]


def _levels(
    group: list[str], values: dict[str, list[Hashable]], codes: np.ndarray, variants: tuple[str, ...]
) -> Iterator[str]:
    """An axis' own values; of several axes the words that the labels of a level share and others do not."""
    words = [label.split(", ") for label in variants]
    everywhere = set.intersection(*map(set, words))
    for level in range(codes.max() + 1):
        first = int(np.flatnonzero(codes == level)[0])
        if len(group) == 1:
            value = values[group[0]][first]
            yield "diameter" if value is None and axis_name(group[0]) == "K" else written(value)
            continue
        shared = set.intersection(*(set(words[place]) for place in np.flatnonzero(codes == level))) - everywhere
        told = [values[name][first] for name in group]
        yield ", ".join(word for word in words[first] if word in shared) or ", ".join(
            written(value) for value in told if value not in LAST
        )
