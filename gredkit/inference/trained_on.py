"""The dataset that a stored model was trained on, and the metric that it was chosen by."""

from collections.abc import Mapping
from typing import Any

from gredkit.config.mistakes import check_settings
from gredkit.data.datasets.python_dataset import python_dataset
from gredkit.data.datasets.subset import subset
from gredkit.data.objectives import Metric, metric_for
from gredkit.data.subsets import place_of, read
from gredkit.data.task import Task
from gredkit.errors import UserError
from gredkit.inference.about import SavedModel
from gredkit.ranges import said
from gredkit.registry import DATASETS, METRICS, hyperparameters

FOLDER = "root"  # the setting that says where a dataset lies
FUNCTION = "target"  # and that of `python_dataset` which names a function


def dataset_of(about: SavedModel, name: str | None = None) -> Task:
    """A dataset by its name, the one of the training by default; that one as it was set then.

    A stored model neither names a function to call nor a folder whose files, which may be pickles, PyG would open.
    """
    name = name or about.dataset
    if name not in DATASETS:
        raise UserError(
            f"the model was trained on the dataset {name!r}, which is unknown here: name its module by --import"
        )
    settings = {key: _harmless(v) for key, v in about.dataset_settings.items() if key != FOLDER}
    settings = settings if name == about.dataset else {}
    if "metric" not in hyperparameters(DATASETS[name]):  # datasets of version 0.1 had one; `about.metric` says it too
        settings.pop("metric", None)
    if DATASETS[name] is python_dataset:
        target = said(settings.get(FUNCTION, "package.module:function"))
        raise UserError(f"a stored model calls no function by itself: if you trust {target}, give --data {target}")
    check_settings(f"datasets.{name}", DATASETS[name], settings)
    return check_fits(DATASETS[name](**settings), about, name)


def _harmless(value: Any) -> Any:
    """A setting without what names a folder or a function, as the arguments of the dataset of a subset could."""
    if not isinstance(value, Mapping):
        return value
    return {key: _harmless(inner) for key, inner in value.items() if key not in (FOLDER, FUNCTION)}


def is_in_a_folder(name: str, settings: Mapping[str, Any]) -> bool:
    """Whether a dataset, or that of a subset, is read from a folder, to which it may first have to be downloaded."""
    if name in DATASETS and DATASETS[name] is subset:
        return is_in_a_folder(read(place_of(settings.get("file", "")))["dataset"], settings.get("arguments") or {})
    return FOLDER in hyperparameters(DATASETS.get(name, dict))


def check_fits(task: Task, about: SavedModel, name: str) -> Task:
    """The same task, after checking that the model can read its graphs."""
    if task.reading != about.reading:
        raise UserError(f"the features of {name!r} are not those of {about.dataset!r}, on which this model was trained")
    return task


def metric_of(task: Task, about: SavedModel) -> Metric:
    """The metric that the model was chosen by; that of the dataset if it is not registered here."""
    if about.metric == task.objective.metric.name or about.metric not in METRICS:
        return task.objective.metric
    return metric_for(about.task, about.metric)
