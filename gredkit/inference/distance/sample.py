"""Which graphs and nodes are looked at: drawn from the validation split with a fixed seed."""

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Data

from gredkit.data.objectives import IGNORED
from gredkit.data.task import Task
from gredkit.errors import UserError
from gredkit.inference.distance.record import Sample


def graphs_of(task: Task, sample: Sample) -> list[int]:
    """The numbers of the drawn validation graphs, those with a node that is asked."""
    known = [i for i in task.splits["validation"] if len(asked(task.graphs[i], task.spec.level))]
    if not known:
        raise UserError(f"the validation split of {task.name!r} has no graph with a node: there is nothing to look at")
    drawn = np.random.default_rng(sample.seed).permutation(len(known))[: sample.graphs]
    return sorted(known[i] for i in drawn)


def nodes_of(graph: Data, number: int, level: str, sample: Sample) -> list[int]:
    """The drawn nodes of a graph, among those that are asked."""
    nodes = asked(graph, level)
    drawn = np.random.default_rng([sample.seed, number]).permutation(len(nodes))[: sample.nodes]
    return sorted(int(nodes[i]) for i in drawn)


def hops_of(farthest: int, most: int) -> list[int]:
    """The hops that are hidden: all, or the near ones and ever fewer of the far ones, the farthest among them."""
    if farthest < most:
        return list(range(farthest + 1))
    for growth in np.geomspace(1.0, 2.0 * farthest, 400):
        found = [0.0]
        while found[-1] < farthest:
            found.append(max(found[-1] + 1, growth * found[-1]))
        if len(found) <= most:
            break
    return sorted({min(round(hop), farthest) for hop in found})


def asked(graph: Data, level: str) -> Tensor:
    """The nodes that have a target, where nodes have targets; else all nodes. Shape: -> [some nodes]"""
    count = graph.num_nodes or 0
    if level != "node":
        return torch.arange(count)
    y = graph.y.view(count, -1)
    return (y.isfinite() if y.is_floating_point() else y != IGNORED).any(1).nonzero().flatten()
