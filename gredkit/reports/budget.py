"""The budget of a trial in optimiser steps, beside that of the paper's own model on the same dataset."""

import pandas as pd

from gredkit.data.subsets import whole
from gredkit.reports.numbers import significant
from gredkit.reports.published import LAP_PE, hyperparameters
from gredkit.reports.study import NOTE, SETTING

GRAPHS = {  # of the training splits of the paper's datasets
    **{"zinc": 10_000, "mnist": 55_000, "cifar10": 45_000, "pattern": 10_000, "cluster": 10_000},
    **{"peptides_func": 10_873, "peptides_struct": 10_873},
}
PART = f"{NOTE}subset"  # what a trial says about a dataset that is a part of another one
TRAINED, BATCH = "train_graphs", f"{SETTING}fit.batch_size"


def steps(graphs: int, batch_size: int, epochs: int) -> int:
    """How many steps there are: batches that are not full are left out, unless there is only one."""
    return max(graphs // batch_size, 1) * epochs


def paper_steps(dataset: str) -> int | None:
    """The steps of the paper's own model on one of its datasets."""
    told = hyperparameters(dataset)
    graphs = GRAPHS.get(dataset.removesuffix(LAP_PE))
    return steps(graphs, told["batch_size"], told["epochs"]) if graphs and told else None


def whole_dataset(trials: pd.DataFrame) -> pd.Series:
    """The name of the dataset that each trial is trained on, or on a part of."""
    named = (
        trials[f"{SETTING}dataset"].fillna(trials["dataset"]) if f"{SETTING}dataset" in trials else trials["dataset"]
    )
    if PART not in trials:
        return named
    return trials[PART].map(whole, na_action="ignore").fillna(named)


def of_trials(trials: pd.DataFrame) -> pd.DataFrame:
    """The planned `steps` of each trial, and the `paper_steps` on its dataset; NaN where they are not known."""
    columns = [
        pd.to_numeric(trials.get(name, pd.Series(float("nan"), trials.index)), errors="coerce")
        for name in (TRAINED, BATCH, "epochs")
    ]
    graphs, batch, epochs = (column.astype(float) for column in columns)
    per_epoch = (graphs // batch).clip(lower=1)
    papers = whole_dataset(trials).map(paper_steps).astype(float)
    return pd.DataFrame({"steps": per_epoch * epochs, "paper_steps": papers})


def compared(dataset: str, fewest: float, most: float, papers: float) -> str:
    """Our steps beside the paper's: `495 optimiser steps on peptides_func_tenth; the paper takes 67,800 (0.7 %)`."""
    here = f"{fewest:,.0f}" if fewest == most else f"{fewest:,.0f} to {most:,.0f}"
    share = f"{significant(100 * most / papers, 2)} %"
    return f"{here} optimiser steps on {dataset}, the paper {papers:,.0f} (here {share} of them)"
