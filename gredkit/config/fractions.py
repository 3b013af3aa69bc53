"""Regular fractions of all combinations of switches: few trials, and it is known what cannot be told apart.

2^m of the 2^k combinations of k switches: the first m switches take all combinations, each other one follows from
them (it is the sum, modulo 2, of some of them). The column of a switch is the set of the first switches that it adds
up, as the bits of a number. Switches whose columns add up to nothing are a word, and the fraction cannot tell the
effect of some switches of a word from that of the rest of it. The resolution is the length of the shortest word: with
3, main effects are confounded with pairs; with 4, pairs with pairs; with 5, neither.
(Box, Hunter and Hunter, 2005, chapter 6.)
"""

from collections.abc import Iterator, Sequence
from functools import cache
from itertools import combinations
from typing import Any

from gredkit.config.axes import Axes, Conditions
from gredkit.errors import UserError

MOST = 24  # switches
ROMAN = {3: "III", 4: "IV", 5: "V", 6: "VI"}
PATIENCE = 300  # columns that are tried; fractions of up to 256 combinations come out as small as can be


def fraction(axes: Axes, resolution: int) -> Iterator[dict[str, Any]]:
    """The combinations of the smallest regular fraction; the first values of all axes come first."""
    columns = columns_of(len(axes), resolution)
    places = {axis: place for place, axis in enumerate(axes)}
    for run in range(2 ** basic(columns)):
        yield {axis: axes[axis][(run & columns[place]).bit_count() % 2] for axis, place in places.items()}


def check_switches(axes: Axes, only: Conditions, named: Sequence[str]) -> None:
    """Raise unless all axes are switches, which always apply."""
    if len(axes) > MOST:
        raise UserError(f"study.combine = 'fraction' is for at most {MOST} axes, not {len(axes)}")
    for axis, values in axes.items():
        if len(values) != 2:
            raise UserError(
                f"study.combine = 'fraction' is for axes of exactly two values, and {axis!r} has {len(values)}"
            )
        if axis in only:
            raise UserError(
                f"study.combine = 'fraction' is for axes that always apply: take {axis!r} out of study.only"
            )
    if named:
        raise UserError("study.combine = 'fraction' is for axes alone: make study.variants an axis of two values")


def about(axes: Axes, resolution: int) -> str:
    """What a fraction can tell apart, in one sentence."""
    columns = columns_of(len(axes), resolution)
    runs, words = 2 ** basic(columns), shortest_words(columns)
    of = f"{runs:,} of the {2 ** len(axes):,} combinations of {len(axes)} switches"
    return f"{of}: {clear(len(words[0]) if words else 0)}" if runs < 2 ** len(axes) else f"{of}: all of them"


def clear(resolution: int) -> str:
    """What a resolution means; 0 is one of more than six."""
    named = f"resolution {ROMAN.get(resolution, 'above VI')}"
    if resolution == 3:
        return f"{named}, main effects are confounded with pairs of switches"
    if resolution == 4:
        return f"{named}, main effects are not confounded with pairs of switches, pairs are with each other"
    return f"{named}, neither main effects nor pairs of switches are confounded with each other"


@cache
def columns_of(switches: int, resolution: int) -> tuple[int, ...]:
    """The column of each switch in the smallest fraction that has the resolution.

    Of fractions of that size it has the best resolution, and then few of the shortest words: each column is the one
    that adds the fewest.
    """
    for m in range(1, switches):
        if found := _columns(switches, m, resolution):
            while better := _columns(switches, m, resolution + 1):
                found, resolution = better, resolution + 1
            return found
    return tuple(1 << place for place in range(switches))  # all combinations


def basic(columns: Sequence[int]) -> int:
    """How many switches take all combinations: 2 to this power is the number of combinations."""
    return max(columns, default=0).bit_length()


def shortest_words(columns: Sequence[int], most: int = 6) -> list[tuple[int, ...]]:
    """The places of the switches in each of the shortest words; none if all have more than `most` letters.

    Their length is the resolution. Columns may also be the values of each switch in all trials, as bits of a number.
    """
    for length in range(1, min(most, len(columns)) + 1):
        if words := [word for word in combinations(range(len(columns)), length) if not _sum(columns, word)]:
            return words
    return []


def _columns(switches: int, m: int, resolution: int) -> tuple[int, ...] | None:
    """Columns of m bits, no fewer than `resolution` of which add up to nothing; None if none were found."""
    most = {3: 2**m - 1, 4: 2 ** (m - 1)}.get(resolution)
    if switches > (2**m - 1 if most is None else most) or resolution > switches:
        return None
    tried = 0

    def extend(chosen: tuple[int, ...], candidates: list[int]) -> tuple[int, ...] | None:
        nonlocal tried
        if len(chosen) == switches:
            return chosen
        ways = _ways(chosen, resolution - 1)
        for column in sorted(candidates, key=lambda column: ways.get(column, 0)):
            tried += 1
            if tried > PATIENCE:
                return None
            longer = (*chosen, column)
            taken = _ways(longer, resolution - 2)
            rest = [other for other in candidates if other not in taken and other != column]
            if len(longer) + len(rest) >= switches and (found := extend(longer, rest)):
                return found
        return None

    first = tuple(1 << place for place in range(m))
    taken = _ways(first, resolution - 2)
    candidates = [column for column in range(1, 2**m) if column not in taken]
    found = extend(first, candidates)
    if found or resolution % 2:
        return found
    tried = 0  # sums of an odd number of switches: all words are of an even length
    return extend(first, [column for column in candidates if column.bit_count() % 2])


def _ways(columns: Sequence[int], most: int) -> dict[int, int]:
    """What up to so many columns add up to, with the number of ways in which as many as `most` do."""
    found: dict[int, int] = {}
    for length in range(1, min(most, len(columns)) + 1):
        for some in combinations(columns, length):
            total = _sum(some, range(length))
            found[total] = found.get(total, 0) + (length == most)
    return found


def _sum(columns: Sequence[int], places: Sequence[int]) -> int:
    total = 0
    for place in places:
        total ^= columns[place]
    return total
