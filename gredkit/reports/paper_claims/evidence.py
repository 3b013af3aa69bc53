"""What a claim rests on: studies of real data, from the files that their reports keep or else from the store."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from gredkit.reports.budget import of_trials, paper_steps, whole_dataset
from gredkit.reports.kept import STUDY, read_kept
from gredkit.reports.numbers import decimals, mean_and_spread, several
from gredkit.reports.parts import shares
from gredkit.reports.published import hyperparameters
from gredkit.reports.reading import read_study
from gredkit.reports.statistics import final
from gredkit.reports.study import StudyData
from gredkit.tracking.runs import all_studies

Studies = Mapping[str, StudyData]


@dataclass(frozen=True)
class Need:
    """A study, and a dataset of the paper on which it trains, or on a part of it."""

    study: str
    dataset: str


@dataclass(frozen=True)
class Found:
    """A need and its study; None where it was not run."""

    need: Need
    study: StudyData | None

    @property
    def trials(self) -> pd.DataFrame:
        """The trials that are compared, on the dataset that was asked for, with their `score`."""
        trials = final((self.study or StudyData("")).results)
        if trials.empty:
            return trials
        here = trials[whole_dataset(trials) == self.need.dataset]
        return here[here["dataset"] == here["dataset"].iloc[0]] if len(here) else here

    @property
    def name(self) -> str:
        """The dataset as the study calls it."""
        trials = self.trials
        return str(trials["dataset"].iloc[0]) if len(trials) else self.need.dataset

    @property
    def label(self) -> str:
        """Its name, and how large it is if it is a part of another one."""
        share = shares(self.trials).get(self.name)
        return f"{self.name} ({share})" if share else self.name


def studies(names: Sequence[str], reports: Path, uri: str | None) -> dict[str, StudyData]:
    """Those that were run: from the folder of a report, or from the store if there is no report."""
    stored = {runs.study: runs for runs in all_studies(uri)}
    found = {}
    for name in names:
        if (reports / name / STUDY).is_file():
            found[name] = read_kept(reports / name)
        elif name in stored:
            found[name] = read_study(stored[name])
    return found


def variants(trials: pd.DataFrame) -> set[str]:
    """Those with a score."""
    return set(trials.loc[trials["score"].notna(), "variant"])


def means(trials: pd.DataFrame, names: Iterable[str]) -> str:
    """`lru 0.450 ± 0.012, lstm 0.470 ± 0.009 (n = 3)`, of those variants that have scores."""
    of_variants = trials[trials["score"].notna()].groupby("variant")["score"].agg(["mean", "std", "count"])
    known = of_variants.loc[[name for name in names if name in of_variants.index]]
    digits, same = decimals(known["std"]), known["count"].nunique() == 1
    told = [
        f"{name} {mean_and_spread(mean, spread, digits)}{'' if same else f' (n = {count})'}"
        for name, mean, spread, count in known.itertuples()
    ]
    return f"{', '.join(told)} (n = {known['count'].iloc[0]})" if same else ", ".join(told)


def budgets(trials: pd.DataFrame, dataset: str) -> tuple[str, str]:
    """What our training took, and the paper's: epochs, and optimiser steps where they are known."""
    counted = of_trials(trials)[trials["score"].notna()]
    epochs = trials.loc[trials["score"].notna(), "epochs"].dropna()
    if epochs.empty:
        return "", _paper(dataset)
    ours = (
        several(int(epochs.max()), "epoch")
        if epochs.nunique() == 1
        else f"{epochs.min():.0f} to {epochs.max():.0f} epochs"
    )
    if (steps := counted["steps"].dropna()).size:
        ours += f", {_span(steps)} steps"
    return ours, _paper(dataset)


def _paper(dataset: str) -> str:
    epochs, steps = hyperparameters(dataset).get("epochs"), paper_steps(dataset)
    return f"{epochs:,} epochs, {steps:,} steps" if epochs and steps else "not published"


def _span(steps: pd.Series) -> str:
    low, high = steps.min(), steps.max()
    return f"{low:,.0f}" if low == high else f"{low:,.0f} to {high:,.0f}"
