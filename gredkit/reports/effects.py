"""How much of the variance of the test score each factor of a study explains, each pair of factors, and the seeds."""

import functools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from gredkit.reports.factors import Design, Factor, design
from gredkit.reports.samples import LEVEL, Method, Samples
from gredkit.reports.statistics import TASK, final
from gredkit.reports.terms import Term, inside, terms
from gredkit.reports.variance import LEAST, Divided, NotDivided, Part, divide

MAIN, INTERACTION, REST, SEEDS, ALIKE = "factor", "interaction", "other interactions", "seeds", "part of seeds"
SAME = "seeds, the same in all combinations"
GAIN = ("before", "after", "gain", "gain_low", "gain_high")
COLUMNS = (*TASK, "term", "kind", "freedom", "squares", "share", "low", "high", *GAIN, "confounded", "trials", "lost")


def crossed(results: pd.DataFrame) -> Iterator[tuple[tuple[str, str], pd.DataFrame, Design]]:
    """Dataset and metric, the trials that are compared, and what they cross, for each dataset that crosses factors."""
    trials = final(results)
    for task, here in trials.groupby(TASK, sort=False) if len(trials) else ():
        found = design(results[results["dataset"] == task[0]], here)
        if found is not None:
            yield task, here, found


def effects(results: pd.DataFrame) -> pd.DataFrame:
    """One row per dataset and term: its share of the variance of the score; `variance` has the definition.

    kind: the shares of factors, their interactions of two, the other interactions and the seeds sum to 1. The 'part of
        seeds' that is the same in all combinations is a part of the seeds
    squares, freedom: its sum of squares, in parts of all, and its degrees of freedom
    low, high: approximate 95 % bootstrap interval of the share, with three seeds or more; too short with few
    gain, gain_low, gain_high: of a factor of two levels, how much better the score is with `after` than with `before`
        on average over all combinations; 95 % t interval over the seeds that all combinations have, simultaneous
    confounded: what the trials of a fraction cannot tell from the term
    trials, lost: those with a score, and those without

    Datasets on which the variance cannot be divided have no row: `undivided` says why.
    """
    rows: list[dict[str, Any]] = []
    switches = 0
    for task, here, found in crossed(results):
        scores = _scores(here, found)
        try:
            parts = _divided(found, scores)
        except NotDivided:
            continue
        larger, one_split = bool(here["larger_is_better"].iloc[0]), _replicates(here).nunique() == 1
        known = int(np.isfinite(here["score"]).sum())
        own = terms(found)
        mains = [_gain(found, term, scores, larger, one_split) for term in own if term.is_main]
        switches += sum("samples" in gain for gain in mains)
        total = sum(part.squares for part in (*parts.terms, parts.rest, parts.seeds))
        for row in _rows(own, parts, total, mains):
            rows.append({**dict(zip(TASK, task, strict=True)), **row, "trials": known, "lost": len(here) - known})
    for row in rows:
        if (samples := row.pop("samples", None)) is not None:
            row["gain_low"], row["gain_high"] = samples.interval(LEVEL / switches)
    return pd.DataFrame(rows, columns=list(COLUMNS))


def undivided(results: pd.DataFrame) -> Iterator[tuple[str, str]]:
    """Datasets of crossed factors on which the variance cannot be divided, and why."""
    for (dataset, _), here, found in crossed(results):
        scores = _scores(here, found)
        empty = np.flatnonzero(np.isnan(scores).all(0))
        if 0 < len(empty) < scores.shape[1]:
            more = f" and {len(empty) - 1} more" if len(empty) > 1 else ""
            yield dataset, f"{found.variants[empty[0]]}{more} {'have' if more else 'has'} no score"
        elif not len(empty):
            try:
                _divided(found, scores)
            except NotDivided as reason:
                yield dataset, str(reason)


def _replicates(trials: pd.DataFrame) -> pd.Series:
    return trials["replicate"].fillna("") if "replicate" in trials else pd.Series("", trials.index)


def _scores(trials: pd.DataFrame, found: Design) -> np.ndarray:
    """Scores by seed, or by fold and seed, NaN where there is none. Shape: -> [seeds, combinations]"""
    units = trials.assign(replicate=_replicates(trials))
    table = units.groupby(["replicate", "seed", "variant"])["score"].mean().unstack()
    table = table.reindex(columns=list(found.variants)).dropna(how="all")
    return table.to_numpy(float)


def _divided(found: Design, scores: np.ndarray) -> Divided:
    """Computed once for table, figure and sentences."""
    levels = tuple(len(factor.levels) for factor in found.factors)
    return _divided_once(levels, tuple(map(tuple, found.points.tolist())), scores.tobytes())


@functools.lru_cache(maxsize=200)
def _divided_once(levels: tuple[int, ...], points: tuple[tuple[int, ...], ...], scores: bytes) -> Divided:
    factors = tuple(Factor(str(i), tuple(map(str, range(n)))) for i, n in enumerate(levels))
    own = terms(Design(factors, np.array(points), ()))
    table = np.frombuffer(scores).reshape(-1, len(points))
    return divide([term.columns for term in own], inside(own), table)


def _gain(found: Design, term: Term, scores: np.ndarray, larger: bool, one_split: bool) -> dict[str, Any]:
    """How much better a factor's second level is than its first; nothing if it has more levels."""
    (place,) = term.factors
    levels = found.factors[place].levels
    if len(levels) != 2:
        return {}
    is_after = found.points[:, place] == 1
    means = (1 if larger else -1) * np.nanmean(scores, axis=0)
    gain = {"before": levels[0], "after": levels[1], "gain": means[is_after].mean() - means[~is_after].mean()}
    whole = (1 if larger else -1) * scores[np.isfinite(scores).all(1)]
    if len(whole) >= LEAST and one_split:  # folds overlap: they are not independent
        samples = Samples(Method.PAIRED, whole[:, is_after].mean(1), whole[:, ~is_after].mean(1))
        gain |= {"gain": samples.difference, "samples": samples}
    return gain


def _rows(own: list[Term], parts: Divided, total: float, mains: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for term, part, gain in zip(own, parts.terms, [*mains, *[{}] * len(own)], strict=False):
        kind = MAIN if term.is_main else INTERACTION
        yield {"term": term.name, "kind": kind, **_told(part, total), **gain, "confounded": ", ".join(term.confounded)}
    for name, kind, part in ((REST, REST, parts.rest), (SEEDS, SEEDS, parts.seeds), (SAME, ALIKE, parts.alike)):
        if part.freedom:
            yield {"term": name, "kind": kind, **_told(part, total), "confounded": ""}


def _told(part: Part, total: float) -> dict[str, float]:
    values = {name: getattr(part, name) for name in ("freedom", "share", "low", "high")}
    return {**values, "squares": part.squares / total}
