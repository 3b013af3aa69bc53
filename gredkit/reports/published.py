"""The numbers in the paper's tables, and some of other publications. The paper's two ablation figures have none.

Every number carries the number of parameters of its model, where it is known: the paper's tables say "about 500K", but
the numbers of several baselines come from models with about 100k.
"""

import functools
import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

import pandas as pd

from gredkit.reports.numbers import mean_and_spread, several
from gredkit.reports.statistics import TASK

LAP_PE = "_lap_pe"  # suffix of the blocks that add the positional encoding
OURS = "GRED"
OTHER_SIZE = 1.5  # models whose numbers of parameters differ by more than this factor are of different sizes


@dataclass(frozen=True)
class Reference:
    """What is published for a model on a dataset; None is what is not known.

    epochs, runs: of the paper's own model
    table: its number in the paper
    """

    model: str
    mean: float
    std: float
    table: int | None
    epochs: int | None
    runs: int | None
    parameters: int | None
    source: str

    @property
    def score(self) -> str:
        """The score with the digits that the paper prints."""
        digits = max(len(f"{number:.7f}".rstrip("0").partition(".")[2]) for number in (self.mean, self.std))
        return mean_and_spread(self.mean, self.std, digits)

    @property
    def budget(self) -> str:
        """The number of epochs of the paper's own model, and the number of parameters of others, in words."""
        if self.model.startswith(OURS):
            return f"{self.epochs} epochs" if self.epochs else "epochs not published"
        return f"{in_words(self.parameters)} parameters" if self.parameters else "parameters not published"

    def differs_from(self, parameters: float) -> bool:
        """Whether a model with so many parameters is of quite another size."""
        return bool(self.parameters and parameters > 0) and sizes_differ(self.parameters or 0, parameters)


def sizes_differ(one: float, other: float) -> bool:
    """Whether two numbers of parameters, both above 0, are of quite another size."""
    return max(one / other, other / one) > OTHER_SIZE


def in_words(parameters: int) -> str:
    """`about 100k`, or an exact number."""
    return f"about {parameters // 1000}k" if parameters % 1000 == 0 else f"{parameters:,}"


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


def tables() -> Iterator[tuple[str, str, pd.DataFrame]]:
    """Label, title and values of each table of the paper, in its order."""
    values = _values()
    for label, about in _stored()["tables"].items():
        yield label, f"Table {about['number']}: {about['title']}", values[values["table"] == label]


@functools.cache
def elsewhere() -> pd.DataFrame:
    """Numbers of other publications, with their source; accuracies are fractions."""
    values = pd.DataFrame(_stored()["elsewhere"]).assign(std=math.nan)
    values["mean"] = values["mean"].mask(values["metric"].str.endswith("accuracy"), (values["mean"] / 100).round(7))
    return values


def reference(dataset: str, metric: str, model: str = OURS) -> Reference | None:
    """What is published for a model on a dataset by a metric; the paper's own with positional encoding for `…_lap_pe`.

    The paper's tables come first. The model is found in any case of letters: `gcn` is their GCN.
    """
    if model == OURS and dataset.endswith(LAP_PE):
        model = f"{OURS}+LapPE"
    for rows in (published(dataset), elsewhere()):
        is_it = (rows["dataset"] == dataset.removesuffix(LAP_PE)) & (rows["metric"] == metric)
        found = rows[is_it & (rows["model"].map(plain_name) == plain_name(model))]
        if len(found):
            return _reference(found.iloc[0].to_dict(), hyperparameters(dataset).get("epochs"))
    return None


def _reference(row: dict[str, Any], epochs: int | None) -> Reference:
    parameters = None if pd.isna(row["parameters"]) else int(row["parameters"])
    if "table" not in row:
        return Reference(row["model"], row["mean"], row["std"], None, None, None, parameters, row["source"])
    ours = row["model"].startswith(OURS)
    runs = _stored()["tables"][row["table"]]["runs_of_gred"] if ours else None
    return Reference(
        row["model"], row["mean"], row["std"], int(row["number"]), epochs if ours else None, runs, parameters,
        f"the paper, table {row['number']}",
    )  # fmt: skip


@functools.cache
def known_models() -> frozenset[str]:
    """The plain names of all models of which something is published."""
    return frozenset(plain_name(model) for values in (_values(), elsewhere()) for model in values["model"])


def plain_name(model: str) -> str:
    """The name of a model as it is compared: without the paper's mark for tuned baselines."""
    name = model.strip().lower().removesuffix("*")
    return "gin" if name == "gine" else name


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
