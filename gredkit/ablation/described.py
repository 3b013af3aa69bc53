"""A trial: plain data, from which any process can train it."""

import functools
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import torch
from torch_geometric.data import Data

from gredkit.ablation.identity import code_hash, data_hash, trial_id
from gredkit.config import bindings as config
from gredkit.config.study import TrialSettings
from gredkit.data.hops.diameter import diameters
from gredkit.data.hops.index import DATASET, check_K
from gredkit.data.objectives import Objective
from gredkit.data.own.sound import check_task
from gredkit.data.task import SPLITS, GraphSpec, Task
from gredkit.errors import UserError
from gredkit.imports import call_own
from gredkit.nn.composition import Composition
from gredkit.nn.models.gred import count_parameters
from gredkit.nn.parameters import check_memory
from gredkit.paths import data_root
from gredkit.registry import DATASETS
from gredkit.system.writing import writing
from gredkit.training.recipe import Recipe
from gredkit.trials.trial import Trial

COMPUTES = ("gredkit.training.fit", "gredkit.data.hops.cache")  # beside the model itself
SAMPLE = 256  # graphs that are kept of a dataset, to estimate times


@dataclass(frozen=True)
class Described:
    """What gin says of a trial, once its files are read."""

    settings: TrialSettings
    recipe: Recipe
    composition: Composition

    def flat(self, seed: int) -> dict[str, Any]:
        """One entry a setting, named as in gin: what MLflow keeps, and what the id is made of."""
        dataset = self.settings.dataset
        named = {"dataset": dataset, "K": self.settings.K, "seed": seed}
        named |= {f"datasets.{dataset}.{key}": v for key, v in config.settings(DATASETS, dataset).items()}
        return named | self.composition.flat() | {f"fit.{key}": value for key, value in asdict(self.recipe).items()}


def describe(spec: GraphSpec) -> Described:
    """The trial that gin's bindings describe; every mistake that can be seen without training is raised."""
    settings, recipe = config.read("trial"), config.read("fit")
    if settings.K != DATASET:
        check_K(settings.K)
    recipe.resolve_device()
    return Described(settings, recipe, config.composition(spec))


@dataclass(frozen=True)
class About:
    """What a plan needs to know of a dataset, without its graphs."""

    spec: GraphSpec
    hash: str
    objective: Objective
    sizes: Mapping[str, int]
    sample: tuple[Data, ...]
    diameters: tuple[float, float] | None


def load_task() -> Task:
    """The dataset of the trial that gin describes; one of the user's own is looked at before it is believed."""
    dataset = config.read("trial").dataset
    make = config.configured(DATASETS, dataset)
    with writing(data_root()):  # what is downloaded, and what is made of it
        if DATASETS[dataset].__module__.startswith("gredkit."):
            return make()
        return check_task(call_own(make, f"the dataset {dataset!r}"), dataset)


def about_data() -> About:
    """Of the dataset of the trial that gin describes; loaded once for equal settings."""
    dataset = config.read("trial").dataset
    return _about(dataset, repr(sorted(config.settings(DATASETS, dataset).items())))


@functools.cache
def _about(dataset: str, settings: str) -> About:
    task = load_task()
    train = task.splits["train"]
    for split in SPLITS:
        if not len(task.splits.get(split, ())):
            raise UserError(f"{dataset} has no graphs in its {split} split: give it at least one")
    return About(
        spec=task.spec,
        hash=data_hash(task),
        objective=task.objective,
        sizes={split: len(indices) for split, indices in task.splits.items()},
        sample=tuple(task.graphs[i] for i in list(train)[:SAMPLE]),
        diameters=diameters(task.graphs),
    )


def resolve(trial: Trial, seeds: Sequence[int]) -> list[Trial]:
    """The trial with each seed, and with what follows from its description: settings, parameters, metric and id."""
    trial.load()
    about = about_data()
    described = describe(about.spec)
    with torch.device("meta"):
        model = described.composition.build(about.spec)
    check_memory(model)
    code = code_hash(model, *COMPUTES)
    metric = about.objective.metric
    shared = replace(
        trial,
        parameters=count_parameters(model),
        metric=metric.name,
        larger_is_better=metric.larger_is_better,
        diameters=about.diameters,
    )
    result = []
    for seed in seeds:
        settings = described.flat(seed)
        result.append(replace(shared, seed=seed, settings=settings, id=trial_id(settings, about.hash, code)))
    return result
