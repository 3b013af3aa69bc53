"""Load the dataset of a trial, and summarise it for the plan."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from torch_geometric.data import Data

from gredkit.ablation.identity import data_hash, objective_hash
from gredkit.config.configuration import Configuration
from gredkit.data.hops.diameter import diameters
from gredkit.data.objectives import Objective, loss_for, metric_for
from gredkit.data.own.sound import check_task
from gredkit.data.task import SPLITS, GraphSpec, Task
from gredkit.errors import UserError
from gredkit.imports import call_own
from gredkit.paths import data_root
from gredkit.registry import DATASETS, LOSSES, METRICS
from gredkit.system.writing import writing
from gredkit.trials.trial import Trial

SAMPLE = 256  # graphs of a dataset that are kept to estimate times


@dataclass(frozen=True)
class About:
    """What a plan needs to know about a dataset, without all of its graphs."""

    spec: GraphSpec
    digest: str  # a hash of graphs and splits
    hash: str  # of these, loss and metric
    objective: Objective
    sizes: Mapping[str, int]  # graphs in each split
    sample: tuple[Data, ...]  # training graphs
    diameters: tuple[float, float] | None  # median and largest, of a sample of the graphs


def load_task(configuration: Configuration) -> Task:
    """The dataset of a trial; a user's own dataset is checked."""
    task = _load(configuration)
    return replace(task, objective=chosen_objective(task.objective, configuration))


def chosen_objective(own: Objective, configuration: Configuration) -> Objective:
    """The objective of a dataset with the loss and the metric that a trial has chosen instead."""
    loss, metric = configuration.trial.loss, configuration.trial.metric
    if loss is not None:
        own = replace(own, loss=loss_for(own.kind, loss, **configuration.settings(LOSSES, loss)))
    if metric is not None:
        own = replace(own, metric=metric_for(own.kind, metric, **configuration.settings(METRICS, metric)))
    return own


def _load(configuration: Configuration) -> Task:
    dataset = configuration.trial.dataset
    make = configuration.component(DATASETS, dataset)
    with writing(data_root()):  # downloaded and processed files
        if DATASETS[dataset].__module__.startswith("gredkit."):
            return make()
        return check_task(call_own(make, f"the dataset {dataset!r}"), dataset)


_known: dict[tuple[str, str], About] = {}


def about_data(configuration: Configuration) -> About:
    """The summary of a trial's dataset; datasets with equal settings are loaded once."""
    dataset = configuration.trial.dataset
    key = dataset, repr(sorted(configuration.settings(DATASETS, dataset).items()))
    if key not in _known:
        _known[key] = _about(_load(configuration), dataset)
    about = _known[key]
    objective = chosen_objective(about.objective, configuration)
    return replace(about, objective=objective, hash=about.digest + objective_hash(objective))


def known_hashes(trials: Iterable[Trial]) -> dict[str, list[str]]:
    """The hashes of the graphs and splits of trials, by the names of the datasets, as far as they were loaded here."""
    found: dict[str, dict[str, None]] = {}
    for trial in trials:
        prefix = f"datasets.{trial.settings['dataset']}."
        given = [(key.removeprefix(prefix), value) for key, value in trial.settings.items() if key.startswith(prefix)]
        about = _known.get((trial.settings["dataset"], repr(sorted(given))))
        if about is not None:
            found.setdefault(trial.dataset, {})[about.digest] = None
    return {dataset: list(hashes) for dataset, hashes in found.items()}


def _about(task: Task, dataset: str) -> About:
    for split in SPLITS:
        if not len(task.splits.get(split, ())):
            raise UserError(f"{dataset} has no graphs in its {split} split: give it at least one")
    digest = data_hash(task)
    return About(
        spec=task.spec,
        digest=digest,
        hash=digest + objective_hash(task.objective),
        objective=task.objective,
        sizes={split: len(indices) for split, indices in task.splits.items()},
        sample=tuple(task.graphs[i] for i in list(task.splits["train"])[:SAMPLE]),
        diameters=diameters(task.graphs),
    )
