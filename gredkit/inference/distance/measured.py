"""All that is measured of one trained model."""

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from gredkit.data.objectives import Metric
from gredkit.data.task import Task
from gredkit.inference.distance.derivatives import Target, jacobian_norms, mixed_norms
from gredkit.inference.distance.distances import hops_from, resistances
from gredkit.inference.distance.knock_out import Hiding, answers_without_set, reads_sequences
from gredkit.inference.distance.record import FEATURES, SETS, USUAL, Measured, Sample
from gredkit.inference.distance.sample import graphs_of, hops_of, nodes_of
from gredkit.nn.models.base import add_needs


def measure(
    model: nn.Module, task: Task, K: int | None, sample: Sample = USUAL, metric: Metric | None = None
) -> Measured:
    """Look at a trained model on validation graphs of its task.

    metric: of the knock-out; that of the task by default
    """
    level = task.spec.level
    numbers = graphs_of(task, sample)
    graphs = [add_needs(task.graphs[i], model, K) for i in numbers]
    nodes = [nodes_of(graph, i, level, sample) for graph, i in zip(graphs, numbers, strict=True)]
    targets = [Target(graph, v) for graph, some in zip(graphs, nodes, strict=True) for v in some]
    with frozen(model):
        norms = jacobian_norms(model, targets)
        hops = [hops_from(*target) for target in targets]
        influence, pairs = by_hop(norms, hops)
        far = _ohms(targets)
        mixed: list[float] = []
        if level != "node":
            few = _spread(len(targets), sample.pairs)
            second = mixed_norms(model, [targets[i] for i in few], sample.directions, sample.seed)
            mixed = by_hop(second, [hops[i] for i in few])[0]
        knock_out, scored, notes = _knock_out(model, graphs, nodes, level, sample, metric or task.objective.metric)
    if far is None:
        notes.append("a graph is too large for effective resistances")
    return Measured(
        influence, pairs, mean_distance(norms, hops), None if far is None else mean_distance(norms, far), mixed,
        knock_out, len(graphs), len(targets), notes, scored,
    )  # fmt: skip


def by_hop(norms: Sequence[Tensor], hops: Sequence[np.ndarray]) -> tuple[list[float], list[int]]:
    """The mean over targets of the sum of norms at hop 0, 1, …, and the number of nodes there; unreachable ones do not
    count."""
    last = max(int(one.max()) for one in hops)
    total, pairs = np.zeros(last + 1), np.zeros(last + 1, int)
    for norm, far in zip(norms, hops, strict=True):
        near = far >= 0
        total += np.bincount(far[near], norm.double().numpy()[near], last + 1)
        pairs += np.bincount(far[near], minlength=last + 1)
    return (total / len(hops)).tolist(), pairs.tolist()


def mean_distance(norms: Sequence[Tensor], distances: Sequence[np.ndarray]) -> float | None:
    """ρ = Σ d(u, v) ‖∂h_v/∂x_u‖₁ / Σ ‖∂h_v/∂x_u‖₁ over all targets v and the nodes u that are reachable from them.

    None where nothing has an influence.
    """
    total = weighted = 0.0
    for norm, far in zip(norms, distances, strict=True):
        near = np.isfinite(far) & (far >= 0)
        weight = norm.double().numpy()[near]
        total += weight.sum()
        weighted += (weight * far[near]).sum()
    return weighted / total if total > 0 and math.isfinite(weighted / total) else None


@contextmanager
def frozen(model: nn.Module) -> Iterator[None]:
    """Inside, the model is as in evaluation, and only its features are differentiated."""
    learned = [parameter for parameter in model.parameters() if parameter.requires_grad]
    was_training = model.training
    model.eval()
    for parameter in learned:
        parameter.requires_grad_(False)
    try:
        yield
    finally:
        for parameter in learned:
            parameter.requires_grad_(True)
        model.train(was_training)


def _ohms(targets: Sequence[Target]) -> list[np.ndarray] | None:
    """The effective resistances from each target; None if a graph is too large."""
    known: dict[int, np.ndarray | None] = {}
    for graph, _ in targets:
        if id(graph) not in known:
            known[id(graph)] = resistances(graph)
    found = [None if (rows := known[id(graph)]) is None else rows[node] for graph, node in targets]
    return None if any(one is None for one in found) else found  # type: ignore[return-value]


def _spread(count: int, most: int) -> list[int]:
    """At most so many of 0, 1, …, evenly spaced."""
    return sorted(set(np.linspace(0, count - 1, min(count, most)).round().astype(int).tolist()))


def _knock_out(
    model: nn.Module, graphs: list[Data], nodes: list[list[int]], level: str, sample: Sample, metric: Metric
) -> tuple[list[tuple[str, int | None, float | None]], dict[str, list[int]], list[str]]:
    """The scores with each hop hidden, in both ways where they apply, of how much, and why one does not."""
    found: list[tuple[str, int | None, float | None]] = []
    scored: dict[str, list[int]] = {}
    notes: list[str] = []
    some, targets = _affordable(graphs, nodes, level, sample.rows)
    hiding = Hiding(model, some, targets, level)
    hops = hops_of(hiding.farthest, sample.hops)
    if hiding.applies():
        y = hiding.y()
        found += [(FEATURES, hop, _score(metric, hiding.answers(hop), y)) for hop in (None, *hops)]
        scored[FEATURES] = [len(some), len(y)]
    else:
        notes.append("no hop can be hidden: the answer is not made from the states of the nodes")
    if reads_sequences(model):
        for hop in (None, *hops):
            answers, y = answers_without_set(model, graphs, level, hop)
            found.append((SETS, hop, _score(metric, answers, y)))
            scored[SETS] = [len(graphs), len(y)]
    return found, scored, notes


def _affordable(
    graphs: list[Data], nodes: list[list[int]], level: str, rows: int
) -> tuple[list[Data], list[list[int]]]:
    """The graphs in which hops are hidden, and their targets: for a task on graphs all nodes, up to so many rows."""
    if level == "node":
        return graphs, nodes
    total, count = 0, 0
    for graph in graphs:
        total += (graph.num_nodes or 0) ** 2
        if count and total > rows:
            break
        count += 1
    return graphs[:count], [list(range(graph.num_nodes or 0)) for graph in graphs[:count]]


def _score(metric: Metric, out: Tensor, y: Tensor) -> float | None:
    """The score, None where it is not finite: a metric of rankings needs more than one class."""
    with torch.no_grad():
        score: Any = metric.score(out, y)
    return float(score) if math.isfinite(score) else None
