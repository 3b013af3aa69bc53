"""Estimate how long a trial will take, from two short epochs of a temporary model."""

import copy
from dataclasses import replace

from gredkit.ablation.dataset import about_data
from gredkit.ablation.described import describe
from gredkit.data.hops.diameter import diameter
from gredkit.data.task import SPLITS, Task
from gredkit.nn.models.base import needs_of
from gredkit.training.fit import Diverged, EpochReport, fit
from gredkit.trials.trial import Trial

BATCHES = 2


def seconds(trial: Trial) -> float | None:
    """Seconds for all epochs with validation, without loading and hop index; None if it cannot be estimated."""
    configuration = trial.configuration()
    about = about_data(configuration)
    described = describe(configuration, about.spec)
    graphs = list(about.sample[: BATCHES * described.recipe.batch_size])
    all_of_them = dict.fromkeys(SPLITS, range(len(graphs)))
    task = Task(trial.dataset, about.spec, graphs, all_of_them, about.objective)
    model = described.composition.build(about.spec)
    K = described.settings.K
    if K == "dataset":
        K = max(map(diameter, graphs))  # these graphs are enough for an estimate
    prepared = [copy.copy(graph) for graph in graphs]
    for structure in needs_of(model, K):
        prepared = [structure.add_to(graph) for graph in prepared]
    reports: list[EpochReport] = []
    try:
        fit(model, task, prepared, replace(described.recipe, epochs=2), 0, on_epoch=reports.append)
    except Diverged:
        return None
    last = reports[-1]  # the first epoch is a warm-up
    training = len(graphs) // described.recipe.batch_size * described.recipe.batch_size or len(graphs)
    validation = max(last.seconds - training / last.samples_per_second, 0.0) / len(graphs)
    epoch = about.sizes["train"] / last.samples_per_second + about.sizes["validation"] * validation
    return described.recipe.epochs * epoch + about.sizes["test"] * validation
