"""The findings of a study in plain sentences, which claim no more than the numbers show."""

from collections.abc import Iterator

import pandas as pd

from gredkit.reports.answer import separated
from gredkit.reports.claims import SHARE, Row, difference
from gredkit.reports.effects_said import effect_sentences
from gredkit.reports.numbers import metric_name, several, significant
from gredkit.reports.power import POWER
from gredkit.reports.published import reference
from gredkit.reports.samples import Method
from gredkit.reports.statistics import UNSCORED, counts, leaders, unfinished
from gredkit.reports.verdicts import FEWEST, LEAST, Verdict
from gredkit.trials.state import TrialState

ABOUT = {
    Method.PAIRED: "All variants have one architecture, so they are compared seed by seed (paired t tests)",
    Method.WELCH: "The variants differ in architecture, so they are compared by Welch's t test",
    Method.FOLDS: "Variants are compared fold by fold (paired t tests with the correction of Nadeau and Bengio)",
}
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
        *effect_sentences(results),
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
        claim = "and it beats every other variant"
    elif row["flattered"]:
        claim = "but without the seeds on which it diverged"
    elif row["worse"]:
        return f"{row['variant']} has the best mean on {row['dataset']}, {score}; {separated(row)}."
    elif row["fewest"] < LEAST:
        claim = f"but not every other variant has {LEAST} seeds to test that with"
    elif row["fewest"] < FEWEST:
        claim = f"which is no decision with fewer than {FEWEST} seeds"
    else:
        claim = "but no other variant is shown to be worse"
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
    """What intervals and numbers of seeds are."""
    tested = comparisons[comparisons["verdict"] != Verdict.UNTESTED]
    if tested["low"].notna().any():
        yield about_intervals(int(tested["tests"].iloc[0]))
    if (tested["method"] == Method.WELCH).any() and (tested["method"] == Method.PAIRED).any():
        yield "Variants of one architecture are compared seed by seed (paired t tests), others by Welch's t test."
    elif len(tested):
        yield f"{ABOUT[Method(tested['method'].iloc[0])]}."
    if tested["seeds_needed"].notna().any():
        yield (
            f"So many seeds would decide with a probability of {100 * POWER:.0f} %, if difference and spread are as "
            f"measured so far."
        )
    if (tested["look"] > 0).any():
        yield "The number of seeds was not fixed: the intervals allow for each look at the scores."


def about_intervals(tests: int) -> str:
    """What an interval of a report is."""
    if tests == 1:
        return f"The interval is a t interval: it covers the true difference in {SHARE} of studies."
    return (
        f"Intervals are t intervals, simultaneous for {tests} comparisons (Bonferroni): in {SHARE} of studies all of "
        f"them cover the true differences."
    )
