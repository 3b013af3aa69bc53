"""What a study says about its variants: trials by state, differences to the base, and which variant leads."""

import numpy as np
import pandas as pd

from gredkit.reports.paired import LEAST_PAIRS, LEVEL, Paired, paired
from gredkit.trials.state import TrialState

UNSCORED = "unscored"  # finished, but the score is not a finite number
STATES = (
    TrialState.FINISHED.value,
    UNSCORED,
    TrialState.DIVERGED.value,
    TrialState.FAILED.value,
    TrialState.INTERRUPTED.value,
    TrialState.RUNNING.value,
    TrialState.MISSING.value,
)
TASK = ["dataset", "metric"]
GROUP = [*TASK, "variant"]
COMPARED = ("pairs", "wins", "ties", "losses", "difference", "effect", "p", "p_exact", "p_least")


def final(results: pd.DataFrame) -> pd.DataFrame:
    """The trials that are compared, with their `score`: the test metric of those that finished with a number."""
    trials = results[results["role"] != "tune"].copy() if "role" in results else results.copy()
    test = pd.to_numeric(trials["test"], errors="coerce").astype(float)
    finished = trials["state"] == TrialState.FINISHED
    trials["score"] = test.where(finished & np.isfinite(test))
    trials["state"] = trials["state"].mask(finished & trials["score"].isna(), UNSCORED)
    return trials


def counts(results: pd.DataFrame) -> pd.DataFrame:
    """One row per dataset and variant: the number of trials, and of those in each state."""
    trials = final(results)
    columns = [*STATES, *(state for state in trials["state"].unique() if state not in STATES)]
    if trials.empty:
        return pd.DataFrame(columns=[*GROUP, "trials", *columns])
    by_state = trials.groupby([*GROUP, "state"], sort=False).size().unstack(fill_value=0)
    order = pd.MultiIndex.from_frame(trials[GROUP].drop_duplicates())
    by_state = by_state.reindex(order).reindex(columns=columns, fill_value=0)
    by_state.insert(0, "trials", by_state.sum(axis=1))
    return by_state.rename_axis(columns=None).reset_index()


def unfinished(counted: pd.DataFrame) -> list[str]:
    """The columns of a frame of `counts` that count trials without a score."""
    return list(counted.columns.drop([*GROUP, "trials", TrialState.FINISHED.value]))


def comparisons(results: pd.DataFrame) -> pd.DataFrame:
    """One row per dataset and variant except the base: the paired difference over seeds, positive if it is better.

    The base is the first variant of the study, or of the dataset if that one is not there. Seeds that did not finish
    for both are `left_out`; if the better variant diverged on some seed, it is `flattered` and its lead does not hold.
    All rows share the 5 % of errors: `tests` is the number of rows that were tested, `p_corrected` is p times `tests`,
    and `low` and `high` are the ends of an interval that excludes 0 exactly where the difference `holds`. A flattered
    difference has no interval.
    """
    trials = final(results)
    rows, pairs = [], []
    for task, here in trials.groupby(TASK, sort=False) if len(trials) else ():
        table, larger = seeds_by_variant(here), bool(here["larger_is_better"].iloc[0])
        base = trials["variant"].iloc[0] if trials["variant"].iloc[0] in table else table.columns[0]
        seeds = {variant: set(own) for variant, own in here.groupby("variant")["seed"]}
        diverging = _diverging(here)
        for variant in table.columns.drop(base):
            found = paired(table[variant].to_numpy(), table[base].to_numpy(), larger)
            left_out = len(seeds[variant] | seeds[base]) - found.pairs
            flattered = bool(found.pairs) and (variant if found.difference > 0 else base) in diverging
            values = (getattr(found, name) for name in COMPARED)
            rows.append((*task, variant, base, *values, left_out, flattered, note(found)))
            pairs.append(found)
    frame = pd.DataFrame(rows, columns=[*GROUP, "base", *COMPARED, "left_out", "flattered", "note"])
    tests = int(frame["p"].notna().sum())
    frame.insert(frame.columns.get_loc("p") + 1, "p_corrected", _corrected(frame, tests))
    flattered = frame["flattered"].to_numpy(bool)
    ends = np.array([found.interval(tests) for found in pairs]).reshape(-1, 2)
    low, high = np.where(flattered, np.nan, ends[:, 0]), np.where(flattered, np.nan, ends[:, 1])
    place = frame.columns.get_loc("difference") + 1
    for name, column in (("tests", tests), ("high", high), ("low", low)):
        frame.insert(place, name, column)
    same = frame["effect"].isna() & (frame["p_corrected"] <= LEVEL)  # on every seed: only the exact test applies
    frame.insert(frame.columns.get_loc("note"), "holds", ((low > 0) | (high < 0) | same) & ~flattered)
    return frame


def leaders(results: pd.DataFrame) -> pd.DataFrame:
    """One row per dataset: the variant with the best mean, and whether its lead over every other variant `holds`.

    p is the largest p of its paired tests. The tests of all leaders with their `rivals` share the 5 % of errors, which
    also accounts for choosing the leader after seeing the scores: `p_corrected` is p times their number. A variant
    without a score is not a rival; a rival that cannot be tested leaves the lead open.
    """
    trials = final(results)
    rows = []
    for task, here in trials.groupby(TASK, sort=False) if len(trials) else ():
        table, larger = seeds_by_variant(here).dropna(axis=1, how="all"), bool(here["larger_is_better"].iloc[0])
        if table.empty:
            continue
        means = table.mean()
        leader = means.idxmax() if larger else means.idxmin()
        rivals = [
            paired(table[leader].to_numpy(), table[rival].to_numpy(), larger) for rival in table.columns.drop(leader)
        ]
        is_ahead = bool(rivals) and all(rival.difference > 0 and rival.is_supported for rival in rivals)
        flattered = leader in _diverging(here)
        p = np.max([rival.p for rival in rivals]) if rivals else np.nan
        rows.append((*task, leader, means[leader], len(rivals), p, flattered, is_ahead))
    frame = pd.DataFrame(rows, columns=[*GROUP, "mean", "rivals", "p", "flattered", "holds"])
    frame.insert(frame.columns.get_loc("p") + 1, "p_corrected", _corrected(frame, int(frame["rivals"].sum())))
    frame["holds"] = frame["holds"].astype(bool) & ~frame["flattered"].astype(bool) & (frame["p_corrected"] <= LEVEL)
    return frame


def seeds_by_variant(trials: pd.DataFrame) -> pd.DataFrame:
    """Scores with one row per seed and one column per variant, in the order of the trials; NaN where there is none."""
    by_seed = trials.groupby(["seed", "variant"])["score"].mean().unstack()
    return by_seed[list(trials["variant"].unique())].sort_index()


def note(found: Paired) -> str:
    """What the reader of a comparison must know, if anything."""
    if not found.pairs:
        return "no seed has finished for both"
    if found.pairs < LEAST_PAIRS:
        return f"fewer than {LEAST_PAIRS} pairs: no test was made"
    if found.ties == found.pairs:
        return "equal on every seed"
    if np.isnan(found.effect):
        return "the same difference on every seed: only the exact test was made"
    if found.p_least > LEVEL:
        return f"{found.pairs} pairs: an exact test cannot go below {found.p_least:.2g}, the t test assumes normality"
    return ""


def _diverging(trials: pd.DataFrame) -> set[str]:
    """The variants that diverged on some seed: worse than any score, but not part of a mean."""
    return set(trials["variant"][trials["state"] == TrialState.DIVERGED])


def _corrected(frame: pd.DataFrame, tests: int) -> pd.Series:
    """p, corrected for several tests after Bonferroni."""
    return (frame["p"].astype(float) * tests).clip(upper=1.0)
