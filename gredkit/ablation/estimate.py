"""How long a trial will take, measured on one batch with a model that is thrown away."""

import copy
import time
from dataclasses import dataclass

import torch
from torch import nn
from torch_geometric.loader import DataLoader

from gredkit.ablation.dataset import about_data
from gredkit.ablation.described import describe
from gredkit.data.hops.diameter import diameter
from gredkit.data.task import SPLITS, Task
from gredkit.nn.models.base import needs_of
from gredkit.training.device import keep_pages
from gredkit.training.evaluation import batches, predict_all
from gredkit.training.fit import train_step
from gredkit.training.state import State
from gredkit.trials.trial import Trial

FREE = (  # settings that change the result of a trial and not the time of an epoch
    "seed",
    *(f"fit.{name}" for name in ("epochs", "learning_rate", "recurrent_factor", "weight_decay", "warmup", "patience")),
)


@dataclass(frozen=True)
class Pace:
    """Seconds for one epoch with its validation, and for the test at the end."""

    epoch: float
    test: float


class Estimates:
    """The time of each trial; trials that differ only in settings without an effect on it are measured once."""

    def __init__(self) -> None:
        self._known: dict[str, Pace] = {}

    def seconds(self, trial: Trial) -> float:
        """All epochs and the test; loading the data and preparing the graphs is not counted."""
        key = repr(sorted((name, value) for name, value in trial.settings.items() if name not in FREE))
        if key not in self._known:
            self._known[key] = measure(trial)
        pace = self._known[key]
        return int(trial.settings["fit.epochs"]) * pace.epoch + pace.test


def measure(trial: Trial) -> Pace:
    """Train one step to warm up and one to measure, then predict the same batch."""
    configuration = trial.configuration()
    about = about_data(configuration)
    described = describe(configuration, about.spec)
    recipe = described.recipe
    device = recipe.resolve_device()
    model = described.composition.build(about.spec)
    graphs = [copy.copy(graph) for graph in about.sample[: recipe.batch_size]]
    K = described.settings.K
    if K == "dataset":
        K = max(map(diameter, graphs))  # the largest distance in these graphs is near enough
    for structure in needs_of(model, K):
        graphs = [structure.add_to(graph) for graph in graphs]
    task = Task(trial.dataset, about.spec, graphs, dict.fromkeys(SPLITS, range(len(graphs))), about.objective)
    keep_pages()
    state = State(model.to(device), recipe, device, {})
    network: nn.Module = torch.compile(model, dynamic=True) if recipe.compile else model  # type: ignore[assignment]
    network.train()
    for _ in range(2):  # the first step allocates memory and loads kernels
        begin = time.perf_counter()
        for batch in batches(DataLoader(graphs, recipe.batch_size), device, network):
            train_step(network, state, batch, task, recipe.learning_rate).item()  # waits for the device
        training = (time.perf_counter() - begin) / len(graphs)
    begin = time.perf_counter()
    predict_all(network, graphs, recipe.batch_size, device, recipe.precision)
    prediction = (time.perf_counter() - begin) / len(graphs)
    epoch = about.sizes["train"] * training + about.sizes["validation"] * prediction
    return Pace(epoch, about.sizes["test"] * prediction)
