"""What the rounds of a study have decided until now: which variants go on, and why the others do not."""

from typing import Any

import pandas as pd

from gredkit.ablation.plan import Plan
from gredkit.ablation.rounds import Round, Variants, looks_of
from gredkit.reports.statistics import asked_for, undecided
from gredkit.reports.verdicts import Verdict


def still_open(plan: Plan, results: pd.DataFrame) -> Variants:
    """The variants that need more seeds, and those that they are compared with."""
    return {(dataset, variant) for dataset, variant in undecided(results, looks_of(plan)) if dataset in plan.looks}


def told(plan: Plan, trained: Round, results: pd.DataFrame, going_on: Variants) -> list[str]:
    """Which comparisons are decided, with how many seeds, and which get more: one sentence per dataset and base.

    Where all pairs are compared, each variant but the last is the base of those after it.
    """
    return [
        f"{dataset}, compared with {base}: {_sentence(here, looks_of(plan), trained, going_on)}"
        for (dataset, base), here in asked_for(results).groupby(["dataset", "base"], sort=False)
        if dataset in plan.looks
    ]


def _sentence(here: pd.DataFrame, looks: tuple[int, ...], trained: Round, going_on: Variants) -> str:
    """The variants of a dataset, those together that stand alike."""
    alike: dict[str, list[str]] = {}
    for row in here.to_dict("records"):
        alike.setdefault(_state(row, looks, trained, going_on), []).append(row["variant"])
    return "; ".join(f"{_are(names)} {state}" for state, names in alike.items())


def _are(names: list[str]) -> str:
    """`lstm is`, `lstm, rnn and attention are`."""
    return f"{', '.join(names[:-1])} and {names[-1]} are" if len(names) > 1 else f"{names[0]} is"


def _state(row: dict[str, Any], looks: tuple[int, ...], trained: Round, going_on: Variants) -> str:
    if Verdict(row["verdict"]).is_decided:  # asked first: either one may go on for another comparison
        return f"{row['verdict']}, decided with {row['look']} seeds"
    if {(row["dataset"], row["variant"]), (row["dataset"], row["base"])} <= going_on and trained.number < len(looks):
        return f"open, {looks[trained.number] - trained.seeds} more seeds"
    why = str(row["note"]).partition(":")[0]
    return f"open with {row['look'] or trained.seeds} seeds{f' ({why})' if why else ''}"
