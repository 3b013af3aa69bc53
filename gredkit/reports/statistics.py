"""What a study says about its variants: trials by state, differences to the base, and which variant leads."""

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from gredkit.config.study import ALL
from gredkit.reports.comparing import COMPARED, Facts, decision, holm, looks_in, row
from gredkit.reports.pairing import scores_by_variant
from gredkit.reports.samples import LEVEL, Method
from gredkit.reports.verdicts import FEWEST, Verdict
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
    """One row per dataset and variant except the base: the difference of their means, positive if it is better.

    The base is the first variant of the study, or of the dataset if that one is not there. All rows share the 5 % of
    errors: `tests` is the number of comparisons that were asked for, `p_corrected` is p times `tests`.

    method: `samples.Method`, chosen by the design
    pairs: seeds (or folds) that both have; wins, ties and losses: on how many of them which one is better
    n: scores of the variant that has fewer; left_out: those that are missing
    difference_now: difference of the means of all scores so far, where there are more than the deciding look has used;
        n_now, base_n_now: how many scores these means have
    low, high: 95 % interval of the difference, simultaneous; it excludes 0 exactly where the verdict is 'different',
        or 'suggested' with fewer than five seeds. If the better variant diverged on a seed (`flattered`), there is
        none. Intervals are cut to what is possible: a difference of accuracies is at most 1
    margin: how small a difference does not matter; equivalence_low, equivalence_high: 90 % interval, simultaneous
    p, p_equivalence: of the t test and of TOST, uncorrected; p counts all looks
    better, better_low, better_high: how often a run of the variant beats one of the base, with 95 % interval (not for
        folds)
    look: the number of seeds at which it was decided or last looked at; 0 if the number of seeds was fixed
    seeds_needed: how many seeds would decide it, infinity for more than 1000; NaN if it is decided, and for folds
    """
    trials = final(results)
    tests = asked(trials)
    rows = []
    for task, here in trials.groupby(TASK, sort=False) if len(trials) else ():
        variants = scores_by_variant(here)
        base = _base(trials, here)
        facts = Facts.of(here)
        rows += [(*task, *row(variants, name, base, facts, tests)) for name in variants if name != base]
    return _frame(rows)


def all_pairs(results: pd.DataFrame) -> pd.DataFrame:
    """The same for every pair of variants of a dataset, corrected after Holm: `p_holm`, by which the verdict is made.

    Its family are all pairs of all datasets. Intervals stay simultaneous for all pairs, so that they are wider: where
    only Holm's procedure finds a difference, the interval has 0. It looks at the scores once, so that where a study
    looks several times, verdicts are those of the intervals.
    """
    trials = final(results)
    tests = _pairs(trials)
    rows = []
    for task, here in trials.groupby(TASK, sort=False) if len(trials) else ():
        variants, facts = scores_by_variant(here), Facts.of(here)
        rows += [(*task, *row(variants, name, base, facts, tests)) for base, name in combinations(variants, 2)]
    frame = _frame(rows)
    frame["p_holm"] = holm(frame["p"], tests)
    more = (frame["p_holm"] <= LEVEL) & (frame["verdict"] == Verdict.OPEN) & ~frame["flattered"]
    more &= (frame["n"] >= FEWEST) & (not looks_in(trials))
    frame["verdict"] = frame["verdict"].mask(more, Verdict.DIFFERENT.value)
    frame["holds"] |= more
    frame["seeds_needed"] = frame["seeds_needed"].mask(more)
    return frame


def _frame(rows: list[tuple[Any, ...]]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=[*GROUP, "base", *COMPARED]).astype({"flattered": bool, "holds": bool})


def asked_for(results: pd.DataFrame) -> pd.DataFrame:
    """The comparisons that the study asks for: with the base, or of all pairs."""
    return all_pairs(results) if _asks_all(final(results)) else comparisons(results)


def undecided(results: pd.DataFrame, looks: Sequence[int]) -> set[tuple[str, str]]:
    """The pairs of dataset and variant to train on for the next look: those of open comparisons, and their bases.

    Not those that more seeds cannot decide: the better variant diverged on a seed, one of the two has no score at all,
    or there are too few folds to test anything.
    """
    frame = results.assign(looks=",".join(map(str, looks)))
    found = asked_for(frame)
    is_decided = found["verdict"].isin([Verdict.DIFFERENT.value, Verdict.EQUIVALENT.value])
    has_scores = (found["n_now"] > 0) & (found["base_n_now"] > 0)
    has_few_folds = (found["verdict"] == Verdict.UNTESTED) & (found["method"] == Method.FOLDS)
    rows = found[~is_decided & ~found["flattered"] & has_scores & ~has_few_folds & (found["look"] < looks[-1])]
    return {(row.dataset, name) for row in rows.itertuples() for name in (row.variant, row.base)}


def leaders(results: pd.DataFrame) -> pd.DataFrame:
    """One row per dataset: the variant with the best mean, and whether its lead over every other variant `holds`.

    `worse` names the variants that are shown to be worse, in the order of the study, `not_worse` the others, the best
    mean first; if the leader diverged on a seed (`flattered`), nothing is shown.
    p is the largest p of its tests against the others. The tests of all leaders with their `rivals` share the 5 % of
    errors, which also accounts for choosing the leader after seeing the scores: `p_corrected` is p times their number.
    These 5 % are another 5 % than those of the comparisons with the base.
    A variant without a score is not a rival; a rival that cannot be tested leaves the lead open. `fewest` is the number
    of scores in the smallest of these tests.
    """
    trials = final(results)
    leading = []
    for task, here in trials.groupby(TASK, sort=False) if len(trials) else ():
        means = here.groupby("variant", sort=False)["score"].mean().dropna()
        if len(means):
            leader = means.idxmax() if here["larger_is_better"].iloc[0] else means.idxmin()
            leading.append((task, here, leader, means, list(means.index.drop(leader))))
    tests = sum(len(rivals) for *_, rivals in leading)
    rows = []
    for task, here, leader, means, rivals in leading:
        variants, facts = scores_by_variant(here), Facts.of(here)
        against = [decision(variants, leader, rival, facts, tests)[0] for rival in rivals]
        p = np.max([one.p for one in against]) if rivals else np.nan
        flattered = bool(variants[leader].diverged)
        behind = [one.verdict == Verdict.DIFFERENT and one.low > 0 and not flattered for one in against]
        worse = tuple(str(rival) for rival, is_behind in zip(rivals, behind, strict=True) if is_behind)
        far = (means[rivals] - means[leader]).abs().sort_values(kind="stable")
        near = tuple(str(rival) for rival in far.index if rival not in worse)
        fewest = min((one.look.samples.n if one.look.samples else 0 for one in against), default=0)
        rows.append(
            (
                *task,
                leader,
                means[leader],
                len(rivals),
                fewest,
                p,
                np.minimum(1.0, p * tests),
                flattered,
                bool(rivals) and all(behind),
                worse,
                near,
            )
        )
    columns = [*GROUP, "mean", "rivals", "fewest", "p", "p_corrected", "flattered", "holds", "worse", "not_worse"]
    return pd.DataFrame(rows, columns=columns).astype({"flattered": bool, "holds": bool})


def asked(trials: pd.DataFrame) -> int:
    """The number of comparisons that share the 5 % of errors: of each variant with its base, or of all pairs."""
    if _asks_all(trials):
        return _pairs(trials)
    return sum(here["variant"].nunique() - 1 for _, here in trials.groupby(TASK, sort=False)) if len(trials) else 0


def _asks_all(trials: pd.DataFrame) -> bool:
    return "compare" in trials and bool((trials["compare"] == ALL).any())


def _pairs(trials: pd.DataFrame) -> int:
    numbers = trials.groupby(TASK, sort=False)["variant"].nunique() if len(trials) else ()
    return sum(int(number) * (int(number) - 1) // 2 for number in numbers)


def _base(trials: pd.DataFrame, here: pd.DataFrame) -> str:
    first = trials["variant"].iloc[0]
    return str(first if (here["variant"] == first).any() else here["variant"].iloc[0])
