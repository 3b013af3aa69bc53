"""What the rounds of a study have decided until now: which variants go on, and why the others do not."""

from typing import Any

import pandas as pd

from gredkit.ablation.plan import Plan
from gredkit.ablation.rounds import Round, Variants, looks_of
from gredkit.reports.statistics import comparisons, undecided
from gredkit.reports.verdicts import Verdict


def still_open(plan: Plan, results: pd.DataFrame) -> Variants:
    """The variants that need more seeds, and those that they are compared with."""
    return {(dataset, variant) for dataset, variant in undecided(results, looks_of(plan)) if dataset in plan.looks}


def told(plan: Plan, trained: Round, results: pd.DataFrame, going_on: Variants) -> list[str]:
    """One sentence per dataset: which comparisons are decided, with how many seeds, and which get more."""
    compared = comparisons(results)
    return [
        f"{dataset}, compared with {here['base'].iloc[0]}: {_sentence(here, looks_of(plan), trained, going_on)}"
        for dataset, here in compared.groupby("dataset", sort=False)
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
    if (row["dataset"], row["variant"]) in going_on and trained.number < len(looks):
        return f"open, {looks[trained.number] - trained.seeds} more seeds"
    if Verdict(row["verdict"]).is_decided:
        return f"{row['verdict']}, decided with {row['look']} seeds"
    why = str(row["note"]).partition(":")[0]
    return f"open with {row['look'] or trained.seeds} seeds{f' ({why})' if why else ''}"
