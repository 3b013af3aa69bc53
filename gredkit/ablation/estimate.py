"""How long a trial will take, from two short epochs of a model that is thrown away."""

from dataclasses import replace

from gredkit.ablation.described import about_data, describe
from gredkit.data.hops.diameter import diameter
from gredkit.data.hops.index import add_hops
from gredkit.data.task import SPLITS, Task
from gredkit.nn.positional.base import PositionalEncoding
from gredkit.training.fit import Diverged, EpochReport, fit
from gredkit.trials.trial import Trial

BATCHES = 2


def seconds(trial: Trial) -> float | None:
    """All epochs with their validation; loading and the hop index are not counted. None if it cannot be told."""
    trial.load()
    about = about_data()
    described = describe(about.spec)
    graphs = list(about.sample[: BATCHES * described.recipe.batch_size])
    all_of_them = dict.fromkeys(SPLITS, range(len(graphs)))
    task = Task(trial.dataset, about.spec, graphs, all_of_them, about.objective)
    model = described.composition.build(about.spec)
    positional: PositionalEncoding = model.positional  # type: ignore[assignment]
    K = described.settings.K
    if K == "dataset":
        K = max(map(diameter, graphs))  # of these graphs: enough to tell the time
    prepared = [add_hops(graph, K) for graph in graphs]
    if positional.key:
        prepared = [positional.add_to(graph) for graph in prepared]
    reports: list[EpochReport] = []
    try:
        fit(model, task, prepared, replace(described.recipe, epochs=2), 0, on_epoch=reports.append)
    except Diverged:
        return None
    last = reports[-1]  # the first one warms up
    training = len(graphs) // described.recipe.batch_size * described.recipe.batch_size or len(graphs)
    validation = max(last.seconds - training / last.samples_per_second, 0.0) / len(graphs)
    epoch = about.sizes["train"] / last.samples_per_second + about.sizes["validation"] * validation
    return described.recipe.epochs * epoch + about.sizes["test"] * validation
