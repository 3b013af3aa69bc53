"""How long a trial will take, measured on one batch with a model that is thrown away.

Trials that differ only in K share one cost model: the time of a graph is linear in the members and the rows of its hop
sets. It is fitted to a few values of K and predicts the others.
"""

import copy
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import nn
from torch_geometric.data import Data
from torch_geometric.loader import DataLoader

from gredkit.ablation.dataset import About, about_data
from gredkit.ablation.described import Described, describe
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
MOST = 3  # values of K that are measured; a line has three coefficients


@dataclass(frozen=True)
class Pace:
    """Seconds for one epoch with its validation, and for the test at the end."""

    epoch: float
    test: float


class Size(NamedTuple):
    """Of a graph's hop index, the mean over some graphs: one row per node and hop, one member per node in a hop set."""

    rows: float
    members: float


class Seconds(NamedTuple):
    """For one graph: a step of training, and a prediction."""

    training: float
    prediction: float

    def pace(self, sizes: Mapping[str, int]) -> Pace:
        """With so many graphs in each split."""
        epoch = sizes["train"] * self.training + sizes["validation"] * self.prediction
        return Pace(epoch, sizes["test"] * self.prediction)


@dataclass(frozen=True)
class Line:
    """Seconds that are linear in the rows and members of a graph; no coefficient is negative."""

    constant: Seconds
    row: Seconds
    member: Seconds

    @classmethod
    def through(cls, points: Mapping[Size, Seconds]) -> "Line":
        """The line with the smallest squared errors."""
        from scipy.optimize import nnls  # it takes a moment to import, and few studies have so many values of K

        measured = np.array([[1.0, *size] for size in points])
        scale = measured.max(0)
        fitted = [nnls(measured / scale, np.array(values))[0] / scale for values in zip(*points.values(), strict=True)]
        return cls(*(Seconds(*coefficients) for coefficients in zip(*fitted, strict=True)))

    def at(self, size: Size) -> Seconds:
        parts = zip(self.constant, self.row, self.member, strict=True)
        return Seconds(*(float(a + b * size.rows + c * size.members) for a, b, c in parts))


class Estimates:
    """The time of each of some trials; those that differ only in settings without an effect on it are measured once."""

    def __init__(self, trials: Iterable[Trial]) -> None:
        self._alike: dict[str, dict[Any, Trial]] = {}  # one trial for each value of K
        for trial in trials:
            self._alike.setdefault(_key(trial), {}).setdefault(trial.settings["K"], trial)
        self._paces: dict[str, dict[Any, Pace]] = {}

    def seconds(self, trial: Trial) -> float:
        """All epochs and the test; loading the data and preparing the graphs is not counted."""
        key = _key(trial)
        if key not in self._paces:
            self._paces[key] = paces(self._alike[key])
        pace = self._paces[key][trial.settings["K"]]
        return int(trial.settings["fit.epochs"]) * pace.epoch + pace.test


def paces(alike: Mapping[Any, Trial]) -> dict[Any, Pace]:
    """By K, the times of trials that differ only in it: as measured, or predicted from those of other values."""
    trials = {K: Short(trial) for K, trial in alike.items()}
    sizes = {K: one.size() for K, one in trials.items()} if len(trials) > MOST else {}
    known = {K: size for K, size in sizes.items() if size is not None}
    chosen = _spread(sorted(known, key=lambda K: known[K].rows)) if len(known) == len(trials) else list(trials)
    measured = {K: trials[K].measure() for K in chosen}
    if len(chosen) < len(trials):
        line = Line.through({known[K]: seconds for K, seconds in measured.items()})
        measured |= {K: line.at(known[K]) for K in trials if K not in measured}
    return {K: measured[K].pace(one.about.sizes) for K, one in trials.items()}


class Short:
    """A short training of a trial: one batch of its data, with a model of its kind."""

    def __init__(self, trial: Trial):
        self._dataset = trial.dataset
        configuration = trial.configuration()
        self.about: About = about_data(configuration)
        self._described: Described = describe(configuration, self.about.spec)

    def measure(self) -> Seconds:
        """Train one step to warm up and one to measure, then predict the same batch."""
        recipe = self._described.recipe
        device = recipe.resolve_device()
        model = self._described.composition.build(self.about.spec)
        graphs = self._graphs(model)
        splits = dict.fromkeys(SPLITS, range(len(graphs)))
        task = Task(self._dataset, self.about.spec, graphs, splits, self.about.objective)
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
        return Seconds(training, (time.perf_counter() - begin) / len(graphs))

    def size(self) -> Size | None:
        """Of the graphs that are measured; None if they have no hop index."""
        with torch.device("meta"):
            model = self._described.composition.build(self.about.spec)
        graphs = self._graphs(model)
        if not all("hop_seq_set" in graph for graph in graphs):
            return None
        sums = (sum(graph[key].numel() for graph in graphs) for key in ("hop_seq_set", "hop_set_member"))
        return Size(*(total / len(graphs) for total in sums))

    def _graphs(self, model: nn.Module) -> list[Data]:
        """One batch, with all that the model needs."""
        graphs = [copy.copy(graph) for graph in self.about.sample[: self._described.recipe.batch_size]]
        K = self._described.settings.K
        if K == "dataset":
            K = max(map(diameter, graphs))  # the largest distance in these graphs is near enough
        for structure in needs_of(model, K):
            graphs = [structure.add_to(graph) for graph in graphs]
        return graphs


def _key(trial: Trial) -> str:
    """Equal for trials that take equally long, or would with the same K."""
    return repr(sorted((name, value) for name, value in trial.settings.items() if name not in (*FREE, "K")))


def _spread(values: Sequence[Any]) -> list[Any]:
    """The first, the last, and others at equal distances."""
    return [values[round(place * (len(values) - 1) / (MOST - 1))] for place in range(MOST)]
