"""The numbers in the paper's tables. Its two ablation figures have no numbers, so there are none here."""

import functools
import json
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

import pandas as pd

from gredkit.reports.numbers import mean_and_spread, several
from gredkit.reports.statistics import TASK

LAP_PE = "_lap_pe"  # suffix of the blocks that add the positional encoding


@dataclass(frozen=True)
class Reference:
    """What the paper reports for its own model on a dataset, and after how many epochs (None if not published)."""

    model: str
    mean: float
    std: float
    table: int
    epochs: int | None
    runs: int

    @property
    def score(self) -> str:
        """The score with the digits that the paper prints."""
        digits = max(len(f"{number:.7f}".rstrip("0").partition(".")[2]) for number in (self.mean, self.std))
        return mean_and_spread(self.mean, self.std, digits)

    @property
    def budget(self) -> str:
        """The number of epochs, in words."""
        return f"{self.epochs} epochs" if self.epochs else "epochs not published"


@functools.cache
def _stored() -> dict[str, Any]:
    return json.loads(files("gredkit.reports").joinpath("published.json").read_text(encoding="utf-8"))


@functools.cache
def _values() -> pd.DataFrame:
    """All values; accuracies are fractions here and percent in the paper."""
    values = pd.DataFrame(_stored()["values"])
    is_percent = values["table"].map(lambda table: _stored()["tables"][table]["percent"])
    for column in ("mean", "std"):
        values[column] = values[column].mask(is_percent, (values[column] / 100).round(7))
    tables = pd.DataFrame(_stored()["tables"]).T.rename_axis("table")[["number", "title"]]
    return values.join(tables, on="table")


def published(dataset: str) -> pd.DataFrame:
    """The paper's results on a dataset: one row per model and metric, no rows if the paper does not have it.

    `table` is the label in the paper's source, `number` and `title` are what a reader sees; `depth` is that of a tree.
    """
    values = _values()
    return values[values["dataset"] == dataset.removesuffix(LAP_PE)].reset_index(drop=True)


def reference(dataset: str, metric: str) -> Reference | None:
    """The paper's own model on a dataset by a metric; with positional encoding for a `…_lap_pe`."""
    model = "GRED+LapPE" if dataset.endswith(LAP_PE) else "GRED"
    rows = published(dataset)
    rows = rows[(rows["metric"] == metric) & (rows["model"] == model) & rows["std"].notna()]
    if rows.empty:
        return None
    row = rows.iloc[0]
    runs = _stored()["tables"][row["table"]]["runs_of_gred"]
    return Reference(model, row["mean"], row["std"], int(row["number"]), hyperparameters(dataset).get("epochs"), runs)


def references_of(results: pd.DataFrame) -> dict[str, list[tuple[str, float]]]:
    """The paper's value on each dataset that has one, with a label that names both budgets."""
    found = {}
    for (dataset, metric), rows in results.groupby(TASK, sort=False):
        if known := reference(dataset, metric):
            here = several(int(rows["epochs"].max()), "epoch")
            found[dataset] = [(f"paper, {known.budget} (here {here})", known.mean)]
    return found


def hyperparameters(dataset: str) -> dict[str, Any]:
    """The paper's hyper-parameters by gredkit's names; K = None is the diameter. Empty if the paper has none."""
    found = dict(_stored()["hyperparameters"].get(dataset.removesuffix(LAP_PE), {}))
    return found | {"lap_pe": _stored()["lap_pe"]} if found and dataset.endswith(LAP_PE) else found
