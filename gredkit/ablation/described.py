"""Derive a trial's model, its named settings and its id from its configuration."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import torch
from torch import nn

from gredkit.ablation.dataset import about_data
from gredkit.ablation.identity import code_hash, trial_id
from gredkit.config.configuration import Configuration
from gredkit.config.study import TrialSettings
from gredkit.data.hops.index import FARTHEST, check_K
from gredkit.data.task import GraphSpec
from gredkit.nn.composition import Composition
from gredkit.nn.models.base import needs_of
from gredkit.nn.parameters import check_memory, count_parameters
from gredkit.registry import DATASETS, LOSSES, METRICS
from gredkit.training.recipe import Recipe
from gredkit.trials.trial import Trial

COMPUTES = ("gredkit.training.fit", "gredkit.data.hops.cache")  # besides the model itself


@dataclass(frozen=True)
class Described:
    """A trial on graphs of a known kind."""

    settings: TrialSettings
    recipe: Recipe
    composition: Composition
    dataset_settings: Mapping[str, Any]
    objective_settings: Mapping[str, Any]  # of the chosen loss and metric, named as in gin

    @property
    def any_K(self) -> int | None:
        """K, or 0 in place of a number that is known only when the data have been searched."""
        return 0 if isinstance(self.settings.K, str) else self.settings.K

    def flat(self, seed: int) -> dict[str, Any]:
        """One entry per setting, named as in gin; MLflow stores them, and the id is made from them."""
        dataset = self.settings.dataset
        named = {"dataset": dataset, "K": self.settings.K, "seed": seed}
        named |= {"loss": self.settings.loss, "metric": self.settings.metric, **self.objective_settings}
        named |= {f"datasets.{dataset}.{key}": value for key, value in self.dataset_settings.items()}
        return named | self.composition.flat() | {f"fit.{key}": value for key, value in asdict(self.recipe).items()}


def describe(configuration: Configuration, spec: GraphSpec) -> Described:
    """The trial that a configuration describes; raises for every mistake that can be found without training."""
    settings, recipe = configuration.trial, configuration.recipe
    if not isinstance(settings.K, str):
        check_K(settings.K)
    recipe.resolve_device()
    of_dataset = configuration.settings(DATASETS, settings.dataset)
    of_objective = {
        f"{registry.plural}.{name}.{key}": value
        for registry, name in ((LOSSES, settings.loss), (METRICS, settings.metric))
        for key, value in (configuration.settings(registry, name) if name else {}).items()
    }
    return Described(settings, recipe, configuration.composition(spec), of_dataset, of_objective)


def resolve(trial: Trial, seeds: Sequence[int]) -> list[Trial]:
    """The trial with each seed, completed with settings, number of parameters, metric and id."""
    configuration = trial.configuration()
    about = about_data(configuration)
    described = describe(configuration, about.spec)
    with torch.device("meta"):
        model = described.composition.build(about.spec)
    check_memory(model)
    needs_of(model, described.any_K)  # raises if the model cannot have this one
    code = code_hash(model, *COMPUTES)
    metric = about.objective.metric
    shared = replace(
        trial,
        parameters=count_parameters(model),
        metric=metric.name,
        larger_is_better=metric.larger_is_better,
        diameters=about.diameters,
    )
    # The objective's own hash counts: a dataset's own loss, named once more, is the same trial.
    without = ("loss", "metric") if reads_hops(model) else ("loss", "metric", "K")
    result = []
    for seed in seeds:
        settings = described.flat(seed)
        counted = {name: value for name, value in settings.items() if name not in without}
        result.append(replace(shared, seed=seed, settings=settings, id=trial_id(counted, about.hash, code)))
    return result


def reads_hops(model: nn.Module) -> bool:
    """Whether K has an effect on a model."""
    near, far = ([(one.key, one.label) for one in needs_of(model, K)] for K in (0, FARTHEST))
    return near != far
