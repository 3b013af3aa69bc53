"""The findings of a study in plain sentences, which claim no more than the numbers show."""

import math
from collections.abc import Iterator
from typing import Any

import pandas as pd

from gredkit.reports.numbers import metric_name, p_value, several, significant
from gredkit.reports.paired import LEAST_PAIRS, LEVEL
from gredkit.reports.published import reference
from gredkit.reports.statistics import UNSCORED, counts, leaders, unfinished
from gredkit.trials.state import TrialState

Row = dict[str, Any]
SHARE = f"{100 * (1 - LEVEL):.0f} %"
TOLD = {  # what is said about one trial, and about several; other states are said as they are
    UNSCORED: ("finished without a score", "finished without a score"),
    TrialState.INTERRUPTED.value: ("was interrupted", "were interrupted"),
    TrialState.RUNNING.value: ("is still running", "are still running"),
    TrialState.MISSING.value: ("is not in MLflow", "are not in MLflow"),
}


def sentences(results: pd.DataFrame, comparisons: pd.DataFrame) -> list[str]:
    """The findings: which variant leads, differences to the base, what failed, the paper's value, and caveats."""
    if results.empty:
        return ["There are no trials yet."]
    states, leading = counts(results), leaders(results)
    return [
        *(["No trial has finished yet."] if leading.empty else []),
        *(lead(row) for row in leading.to_dict("records")),
        *_kernels(results),
        *(difference(row) for row in comparisons.to_dict("records")),
        *_not_finished(states),
        *_tuning(results),
        *_published(results, leading),
        *_caveats(comparisons),
    ]


def lead(row: Row) -> str:
    score = f"{significant(row['mean'])} {metric_name(row['metric'])}"
    if not row["rivals"]:
        return f"{row['variant']} is the only variant with a score on {row['dataset']}: {score} on average."
    if row["holds"]:
        claim = "and its lead over every other variant holds"
    elif row["flattered"]:
        claim = "but without the seeds on which it diverged"
    elif math.isnan(row["p"]):
        claim = f"but not every other variant has {LEAST_PAIRS} seeds to test that with"
    else:
        claim = "but a lead over every other variant does not hold"
    return f"{row['variant']} has the best mean on {row['dataset']}, {score}, {claim}."


def _kernels(results: pd.DataFrame) -> Iterator[str]:
    """A sentence if only some trials ran with compiled kernels, which draw dropout differently."""
    told = results.get("kernels", pd.Series(dtype=str)).fillna("")  # older results have none
    told = told[told != ""]
    count = int((told == "yes").sum())
    if count and count < len(told):
        others = told[told != "yes"]
        yield (
            f"Compiled kernels ran in {count} of {several(len(told), 'trial')} and not, or not always, in the others "
            f"({others.mode()[0]}): dropout drops other values with them, which may be a part of a difference."
        )


def difference(row: Row) -> str:
    """One comparison: which variant is ahead, by how much, on how many seeds, and whether that holds."""
    variant, base, dataset, pairs = row["variant"], row["base"], row["dataset"], row["pairs"]
    if not pairs:
        return f"{variant} and {base} cannot be compared on {dataset}: no seed has finished for both."
    seeds, left_out = several(pairs, "seed"), ""
    if row["left_out"]:
        left_out = f" Left out: {several(row['left_out'], 'seed')} that did not finish for both."
    if row["ties"] == pairs:
        return f"{variant} and {base} have equal scores on {dataset}, on {pairs} of {seeds}.{left_out}"
    better, worse, agreeing = (variant, base, "wins") if row["difference"] > 0 else (base, variant, "losses")
    if row["flattered"]:
        left_out += f" {better} diverged on some, so that its lead does not count."
    amount = f"by {significant(abs(row['difference']))} {metric_name(row['metric'])}"
    on_seeds = f"on {row[agreeing]} of {seeds}"
    ahead = f"{better} is ahead {amount}"
    if not row["difference"]:
        ahead, on_seeds = "equal on average", f"{better} better {on_seeds}"
    if pairs < LEAST_PAIRS:
        result = f"{ahead}, {on_seeds}.{left_out}"
        return f"With {seeds} no test was made between {variant} and {base} on {dataset}: {result}"
    numbers = f"({_interval(row)}), {on_seeds}; {_corrected(row)}.{left_out}"
    if row["holds"]:
        return f"{better} beats {worse} on {dataset} {amount} {numbers}"
    return f"No difference that holds between {variant} and {base} on {dataset}: {ahead} {numbers}"


def _interval(row: Row) -> str:
    """The interval of the difference, seen from the better variant."""
    if math.isnan(row["effect"]):
        return "the same on every seed, so only an exact test was made"
    if math.isnan(row["low"]):
        return "no interval, since seeds are left out"
    low, high = (row["low"], row["high"]) if row["difference"] > 0 else (-row["high"], -row["low"])
    return f"{SHARE} interval {significant(low)} to {significant(high)}"


def _corrected(row: Row) -> str:
    p = p_value(row["p_corrected"])
    return f"{p}, corrected for {row['tests']} comparisons" if row["tests"] > 1 else p


def _not_finished(states: pd.DataFrame) -> Iterator[str]:
    """One sentence per variant, dataset and state without a score."""
    for row in states.to_dict("records"):
        trials = f"{several(row['trials'], 'trial')} of {row['variant']} on {row['dataset']}"
        for state in unfinished(states):
            if row[state]:
                yield f"{row[state]} of {trials} {TOLD.get(state, (state, state))[row[state] > 1]}."


def _tuning(results: pd.DataFrame) -> Iterator[str]:
    """The trials that only chose hyper-parameters, by state."""
    states = results["state"][results["role"] == "tune"].value_counts(sort=False)
    if len(states):
        counted = ", ".join(f"{count} {state}" for state, count in states.items())
        yield f"{several(int(states.sum()), 'trial')} served only to choose hyper-parameters: {counted}."


def _published(results: pd.DataFrame, leading: pd.DataFrame) -> Iterator[str]:
    """The paper's value beside the best one here, with both training budgets."""
    for row in leading.to_dict("records"):
        known = reference(row["dataset"], row["metric"])
        if known:
            is_here = (results["dataset"] == row["dataset"]) & (results["variant"] == row["variant"])
            budget = several(int(results["epochs"][is_here].max()), "epoch")
            yield (
                f"On {row['dataset']} the paper has {known.score} {metric_name(row['metric'])} for {known.model} "
                f"({known.budget}, {known.runs} runs); the best mean here is {significant(row['mean'])} "
                f"({budget}, {row['variant']})."
            )


def _caveats(comparisons: pd.DataFrame) -> Iterator[str]:
    """What so few seeds cannot show."""
    tested = comparisons[comparisons["p"].notna()]
    if not tested["holds"].all():
        yield "That a difference does not hold is no proof that there is none."
    if tested["low"].notna().any():
        yield about_intervals(len(tested))
    least = tested["p_least"].max()
    if least > LEVEL:
        few, enough = tested["pairs"].min(), math.ceil(1 + math.log2(len(tested) / LEVEL))
        yield (
            f"With {few} seeds an exact test cannot go below p = {least:.2g} ({enough} seeds would do for "
            f"{several(len(tested), 'comparison')}), so that what holds does so if differences between seeds are about "
            f"normally distributed."
        )


def about_intervals(tests: int) -> str:
    """What an interval of a report is."""
    if tests == 1:
        return f"The interval is a t interval: it covers the true mean difference in {SHARE} of studies."
    return (
        f"Intervals are t intervals, simultaneous for {tests} comparisons (Bonferroni): in {SHARE} of studies all of "
        f"them cover the true mean differences."
    )
