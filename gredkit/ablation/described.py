"""Derive a trial's model, its named settings and its id from its configuration."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import torch
from torch import nn

from gredkit.ablation.dataset import About, about_data
from gredkit.ablation.identity import code_hash, trial_id
from gredkit.config.configuration import Configuration
from gredkit.config.source import as_text
from gredkit.config.study import BASE, TrialSettings
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
    """The trial with each replicate and seed, completed with settings, number of parameters, metric and id."""
    found = []
    for one in trial.configuration().study.repeated():
        point = trial.point + as_text(one.bindings.items())  # later ones win over those of another replicate
        found += _resolve(replace(trial, point=point, replicate=one.label if one.bindings else ""), seeds)
    return found


def _resolve(trial: Trial, seeds: Sequence[int]) -> list[Trial]:
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
        data={"digest": about.digest, "sizes": dict(about.sizes)},
        compared=_compared(trial, configuration, about, metric.name),
    )
    # The objective's own hash counts: a dataset's own loss, named once more, is the same trial.
    without = ("loss", "metric") if reads_hops(model) else ("loss", "metric", "K")
    result = []
    for seed in seeds:
        settings = described.flat(seed)
        counted = {name: value for name, value in settings.items() if name not in without}
        result.append(replace(shared, seed=seed, settings=settings, id=trial_id(counted, about.hash, code)))
    return result


def _compared(trial: Trial, configuration: Configuration, about: About, metric: str) -> dict[str, Any]:
    """What a report must know to compare it; nothing where the defaults hold, but for the number of training graphs."""
    margin, compare = configuration.study.margin_of(metric), configuration.study.compare
    found: dict[str, Any] = {"train_graphs": about.sizes["train"]}
    found |= {} if margin is None else {"margin": float(margin)}
    found |= {} if compare == BASE else {"compare": compare}
    if looks := configuration.study.looks:
        found["looks"] = ",".join(map(str, looks))
    if trial.replicate:
        found |= {"replicate": trial.replicate, "test_share": about.sizes["test"] / about.sizes["train"]}
    return found


def reads_hops(model: nn.Module) -> bool:
    """Whether K has an effect on a model."""
    near, far = ([(one.key, one.label) for one in needs_of(model, K)] for K in (0, FARTHEST))
    return near != far
