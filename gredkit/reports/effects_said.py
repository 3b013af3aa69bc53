"""The effects of a study in sentences: what explains its scores, what a fraction confounds, and the best path."""

from collections.abc import Iterator

import pandas as pd

from gredkit.config.fractions import clear
from gredkit.reports.ablation_path import ablation_path
from gredkit.reports.claims import SHARE, Row
from gredkit.reports.effects import INTERACTION, MAIN, REST, SEEDS, crossed, effects, undivided
from gredkit.reports.numbers import metric_name, significant
from gredkit.reports.terms import resolution, terms

LEAST = 0.01  # a smaller share of an interaction is not worth a word
MOST = 4  # interactions in a sentence
NAMED = 6  # terms that a sentence names as confounded


def effect_sentences(results: pd.DataFrame) -> list[str]:
    """All sentences about effects; none for a study that crosses no factors."""
    found = effects(results)
    said = [_explained(rows.to_dict("records")) for _, rows in found.groupby("dataset", sort=False)]
    said += [
        f"On {dataset} the variance is not divided among factors and seeds: {why}."
        for dataset, why in undivided(results)
    ]
    said += _confounded(results)
    return said + [_way(rows) for _, rows in ablation_path(results).groupby("dataset", sort=False)]


def percent(share: float) -> str:
    """A share in percent; one below 0 is noise."""
    share = min(max(share, 0.0), 1.0) * 100
    return "less than 1 %" if 0 < share < 0.5 else f"{share:.0f} %"


def _explained(rows: list[Row]) -> str:
    mains = sorted((row for row in rows if row["kind"] == MAIN), key=lambda row: -row["share"])
    first, *others = [(row["term"], row) for row in mains]
    pairs = [row for row in rows if row["kind"] in (INTERACTION, REST)]
    shown = sorted((row for row in pairs if row["share"] >= LEAST), key=lambda row: -row["share"])[:MOST]
    if len(mains) == 2 and pairs:
        others.append(("both together", pairs[0]))
    else:
        others += [(_together(row), row) for row in shown]
    others += [(row["term"], row) for row in rows if row["kind"] == SEEDS]
    has_interval = first[1]["low"] == first[1]["low"]
    interval = f" (approximate {SHARE} interval {_ends(first[1])})" if has_interval else ""
    rest = ", ".join(
        f"{name} {percent(row['share'])}{f' ({_ends(row)})' if has_interval else ''}" for name, row in others
    )
    said = f"On {rows[0]['dataset']} {first[0]} explains {percent(first[1]['share'])} of the variance of the score"
    return f"{said}{interval}, {rest}."


def _together(row: Row) -> str:
    if row["kind"] != INTERACTION:
        return str(row["term"])
    return f"{' or '.join(filter(None, [row['term'], *row['confounded'].split(', ')]))} together"


def _ends(row: Row) -> str:
    low, high = (100 * min(max(row[name], 0.0), 1.0) for name in ("low", "high"))
    return f"{low:.0f} to {high:.0f} %"


def _confounded(results: pd.DataFrame) -> Iterator[str]:
    """What a fraction cannot tell apart, once if it is the same on all datasets."""
    said: dict[str, None] = {}  # keeps the order
    for _, _, found in crossed(results):
        if found.is_full:
            continue
        same = [f"{term.name} with {' and '.join(term.confounded)}" for term in terms(found) if term.confounded]
        more = f"; {len(same) - NAMED} more in effects.csv" if len(same) > NAMED else ""
        told = f"Not told apart: {'; '.join(same[:NAMED])}{more}." if same else ""
        size = f"{len(found.points):,} of {found.combinations:,} combinations were trained"
        said[f"{size}, a fraction of {clear(resolution(found))}. {told}".strip()] = None
    yield from said


def _way(rows: pd.DataFrame) -> str:
    """The path on one dataset."""
    steps = [
        f"{row['factor']} from {row['before']} to {row['after']} "
        f"({significant(row['previous'])} to {significant(row['mean'])})"
        for row in rows.to_dict("records")
    ]
    last = rows.iloc[-1]
    return (
        f"The path from the first variant to {last['variant']}, the best one on {last['dataset']} by "
        f"{metric_name(last['metric'])}, changes {', then '.join(steps)}; it was chosen by these scores."
    )
