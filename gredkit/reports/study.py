"""What a report is made of: a study as plain frames and texts, read once from MLflow."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

IDENTITY = ("id", "variant", "dataset", "seed")
TRIAL = (*IDENTITY, "role", "tuning", "state", "message")
PLANNED = ("metric", "larger_is_better", "parameters", "epochs", "K")
MEASURED = {
    "test": "best/test",
    "validation": "best/validation",
    "train": "best/train",
    "epoch": "best/epoch",
    "test_loss": "best/test_loss",
    "final_validation": "final/validation",
    "seconds": "cost/seconds",
    "peak_mb": "cost/peak_mb",
    "other_load": "cost/other_load",
}
TOLD = ("started", "ended", "device", "kernels", "jobs", "git_commit", "run")
RESULTS = (*TRIAL, *PLANNED, *MEASURED, "seconds_per_epoch", *TOLD)
CURVES = (*IDENTITY, "epoch", "train_loss", "validation")
EIGENVALUES = (*IDENTITY, "layer", "moment", "real", "imag")
HOP_WEIGHTS = (*IDENTITY, "layer", "moment", "hop", "weight")
INFLUENCE = (
    *IDENTITY, "hop", "influence", "pairs", "mixed", "range_hops", "range_resistance", "graphs", "nodes",
)  # fmt: skip
KNOCK_OUT = (*IDENTITY, "hidden", "hop", "score", "graphs", "answers")
AXIS, SETTING, NOTE = "axis:", "setting:", "note:"  # what further columns begin with
NOT_SET = "not set"  # the value of an axis that a trial leaves alone


def _empty(columns: tuple[str, ...]) -> pd.DataFrame:
    return pd.DataFrame(columns=list(columns))


@dataclass(frozen=True)
class StudyData:
    """A study as its last invocation planned it and MLflow knows it.

    results: one row per trial. Its columns are `RESULTS`, then `axis:NAME` for each axis (`NOT_SET` where a trial
    leaves it alone; K is then the trial's own), `note:NAME` for what is said about the data and `setting:NAME` for each
    setting as gin names it. A trial that MLflow does not have is 'missing'; K is None or NaN for the diameter.
    `train_graphs` is the number of training graphs. Where a study has them: `replicate`, what repeats a variant beside
    the seed; `test_share`, test graphs over training graphs; `margin`, the difference that does not matter; `compare`,
    'all' for all pairs; `looks`, such as '5,8,12'.
    `seconds_per_epoch` is the mean over all epochs; `jobs` is how many trials ran side by side, and `other_load` the
    share of the processor that other programs used meanwhile.
    curves: one row per epoch of a trial; of many epochs only some, evenly spaced.
    eigenvalues: one row per eigenvalue; hop_weights: one row per hop of a layer; only for trials that figures show.
    influence: one row per hop of a trial whose model is stored: how strongly the states of nodes depend on the nodes
    there, and the range of the model. knock_out: the validation score of a sample when a hop is hidden (NaN: none),
    and how many graphs and answers the sample has (None if an older version measured it).
    Both are empty where nobody looked.
    diameters: median and largest diameter of a sample of each dataset's graphs.
    files: the gin files of the last invocation by their names. `uri` may be shown: it has no password.
    environments: the machines and packages of the trials, one per invocation that trained some.
    hashes: of the graphs and splits of each dataset; several if the study gives it several settings.
    question: what the study asks, if its gin files do not say it.
    experiments: of runs that belong to another experiment of MLflow than `experiment`.
    """

    name: str
    results: pd.DataFrame = field(default_factory=lambda: _empty(RESULTS))
    curves: pd.DataFrame = field(default_factory=lambda: _empty(CURVES))
    eigenvalues: pd.DataFrame = field(default_factory=lambda: _empty(EIGENVALUES))
    hop_weights: pd.DataFrame = field(default_factory=lambda: _empty(HOP_WEIGHTS))
    influence: pd.DataFrame = field(default_factory=lambda: _empty(INFLUENCE))
    knock_out: pd.DataFrame = field(default_factory=lambda: _empty(KNOCK_OUT))
    diameters: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)
    command: str = ""
    commit: str = ""
    uri: str = ""
    experiment: str = ""
    environments: Sequence[Mapping[str, Any]] = ()
    hashes: Mapping[str, Sequence[str]] = field(default_factory=dict)
    question: str = ""
    experiments: Mapping[str, str] = field(default_factory=dict)
