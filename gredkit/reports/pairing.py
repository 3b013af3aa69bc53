"""Which scores of two variants are compared with which, by the design of the study: one `Look` per number of seeds."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from gredkit.reports.samples import Method, Samples
from gredkit.reports.study import AXIS, SETTING
from gredkit.reports.verdicts import Look, shares
from gredkit.trials.state import TrialState

PARTS = (
    "model",
    "features",
    "edge_features",
    "positional",
    "aggregator",
    "encoder",
    "sequence",
    "study",
)  # of an architecture
UNENDED = (TrialState.INTERRUPTED.value, TrialState.RUNNING.value, TrialState.MISSING.value)
Unit = tuple[str, int]  # a replicate of the data, '' if there is only one, and a seed


@dataclass(frozen=True)
class Scores:
    """The trials of one variant on one dataset."""

    scores: Mapping[Unit, float] = field(default_factory=dict)  # of those that have one
    waiting: frozenset[Unit] = frozenset()  # not ended yet
    diverged: frozenset[Unit] = frozenset()
    all: frozenset[Unit] = frozenset()
    architecture: tuple[frozenset[str], ...] = ()  # its parts and its number of parameters

    def until(self, seeds: set[int]) -> "Scores":
        """Only the trials with these seeds."""
        kept = {unit: score for unit, score in self.scores.items() if unit[1] in seeds}
        waiting, diverged, all_ = (
            frozenset(unit for unit in units if unit[1] in seeds) for units in (self.waiting, self.diverged, self.all)
        )
        return Scores(kept, waiting, diverged, all_, self.architecture)


def scores_by_variant(trials: pd.DataFrame) -> dict[str, Scores]:
    """The variants of one dataset, in the order of the trials, which have a `score`."""
    settings = [name for part in PARTS if (name := f"{SETTING}{part}") in trials]
    parts = [*(settings or [name for name in trials if name.startswith(f"{AXIS}variant.")]), "parameters"]
    found = {}
    for variant, rows in trials.groupby("variant", sort=False):
        replicates = rows["replicate"].fillna("") if "replicate" in rows else [""] * len(rows)
        units = list(zip(replicates, rows["seed"], strict=True))
        scores: dict[Unit, list[float]] = {}
        for unit, score in zip(units, rows["score"], strict=True):
            if np.isfinite(score):
                scores.setdefault(unit, []).append(float(score))
        state = dict(zip(units, rows["state"], strict=True))
        found[str(variant)] = Scores(
            {unit: float(np.mean(several)) for unit, several in scores.items()},
            frozenset(unit for unit in units if state[unit] in UNENDED),
            frozenset(unit for unit in units if state[unit] == TrialState.DIVERGED),
            frozenset(units),
            tuple(frozenset(map(str, rows[part].dropna())) for part in parts),
        )
    return found


def method_of(ours: Scores, theirs: Scores) -> Method:
    """The test, by the design alone."""
    if len({replicate for replicate, _ in ours.all | theirs.all}) > 1:
        return Method.FOLDS
    return Method.PAIRED if ours.architecture == theirs.architecture else Method.WELCH


def looks_of(
    ours: Scores, theirs: Scores, looks: Sequence[int], larger_is_better: bool, test_share: float = 0.0
) -> list[Look]:
    """The comparison at each look that is complete; without looks at all seeds.

    If not even the first one is complete, what there is: it decides nothing.
    """
    method = method_of(ours, theirs)
    if not looks:
        return [_look(ours, theirs, method, larger_is_better, test_share)]
    order = sorted({seed for _, seed in ours.all | theirs.all})
    found = []
    for seeds, share in zip(looks, shares(looks), strict=True):
        some = set(order[:seeds])
        of_look = ours.until(some), theirs.until(some)
        if len(some) < seeds or any(one.waiting or {seed for _, seed in one.all} != some for one in of_look):
            break
        found.append(_look(*of_look, method, larger_is_better, test_share, seeds, share))
    return found or [_look(ours, theirs, method, larger_is_better, test_share, 0, shares(looks)[0], is_complete=False)]


def _look(
    ours: Scores,
    theirs: Scores,
    method: Method,
    larger_is_better: bool,
    test_share: float,
    seeds: int = 0,
    share: float = 1.0,
    is_complete: bool = True,
) -> Look:
    both = sorted(ours.scores.keys() & theirs.scores.keys())
    if method == Method.WELCH:
        units = [sorted(one.scores) for one in (ours, theirs)]
        rows = [np.array([one.scores[unit] for unit in its]) for one, its in zip((ours, theirs), units, strict=True)]
        left_out = len(ours.all - ours.scores.keys()) + len(theirs.all - theirs.scores.keys())
    else:
        rows = [np.array([one.scores[unit] for unit in both]) for one in (ours, theirs)]
        left_out = len((ours.all | theirs.all) - set(both))
        if method == Method.FOLDS:  # one score per fold, since seeds do not make folds independent
            folds = np.array([replicate for replicate, _ in both])
            rows = [np.array([row[folds == fold].mean() for fold in dict.fromkeys(folds)]) for row in rows]
    if not len(rows[0]) or not len(rows[1]):
        return Look(None, seeds, share, left_out=left_out, is_complete=is_complete)
    sign = 1.0 if larger_is_better else -1.0
    samples = Samples(method, sign * rows[0], sign * rows[1], test_share)
    ahead = ours if samples.difference > 0 else theirs
    diverged = bool(ours.diverged or theirs.diverged)
    return Look(samples, seeds, share, bool(ahead.diverged), diverged, left_out, is_complete)
