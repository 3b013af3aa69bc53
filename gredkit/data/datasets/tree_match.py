from math import factorial

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Data

from gredkit import ranges
from gredkit.data.objectives import IGNORED, objective
from gredkit.data.splits import check_shares, consecutive_split, sizes_of
from gredkit.data.task import GraphSpec, Task
from gredkit.registry import DATASETS

DEEPEST = 10  # 1024 leaves; the paper stops at 8


@DATASETS.register("tree_match")
def tree_match(depth: int = 3, graphs: int = 4000, train: float = 0.6, validation: float = 0.2, seed: int = 0) -> Task:
    """Every leaf of a binary tree carries a count and a class; the root must name the class that has its count.

    Tree-NeighborsMatch of Alon & Yahav (2021): the leaves, `depth` hops from the root, have the counts
    1, 2, … from left to right (the numbers of neighbours in the paper's figure) and the classes in random
    order, each once; the root has a count and no class, the nodes between have neither, which is 0. Edges
    point both ways here, to the root only in the paper. No two graphs are equal; of depth 2 there are no more than
    96, so that many are drawn at most. Chance is 1 / 2^depth.

    The paper reports the accuracy on the training set, for depth 2..8, since a bottleneck shows in what cannot
    even be fitted: all models reach 100 % up to depth 3, GGNN and GAT at 4 too, GCN 70 % there, and from 5 on
    none does.
    """
    ranges.whole("depth", depth, 1, DEEPEST)
    ranges.whole("graphs", graphs)
    check_shares(train, validation)
    ranges.seed(seed)
    leaves = 2**depth
    graphs = min(graphs, factorial(leaves) * leaves)
    edge_index = _tree(depth)
    drawn = _draws(leaves, graphs, np.random.default_rng(seed))
    return Task(
        name="tree_match",
        spec=GraphSpec(nodes=(leaves + 1, leaves + 1), outputs=leaves, level="node"),
        graphs=[_graph(question, classes, edge_index) for question, *classes in drawn],
        splits=consecutive_split(*sizes_of(graphs, train, validation)),
        objective=objective("classification"),
    )


def _tree(depth: int) -> Tensor:
    """Node 0 is the root, the children of v are 2v + 1 and 2v + 2; the leaves come last. Shape: -> [2, edges]"""
    child = torch.arange(1, 2 ** (depth + 1) - 1)
    parent = (child - 1) // 2
    return torch.stack([torch.cat([child, parent]), torch.cat([parent, child])])


def _draws(leaves: int, graphs: int, rng: np.random.Generator) -> list[tuple[int, ...]]:
    """Which leaf is asked for, and the classes of all leaves; no two draws are equal."""
    drawn: dict[tuple[int, ...], None] = {}  # keeps the order
    while len(drawn) < graphs:
        draw = (int(rng.integers(leaves)), *rng.permutation(leaves).tolist())
        drawn[draw] = None
    return list(drawn)


def _graph(question: int, classes: list[int], edge_index: Tensor) -> Data:
    leaves = len(classes)
    nodes = 2 * leaves - 1
    x = torch.zeros(nodes, 2, dtype=torch.long)
    x[0, 0] = question + 1
    x[-leaves:, 0] = torch.arange(leaves) + 1
    x[-leaves:, 1] = torch.tensor(classes) + 1
    y = torch.full((nodes,), IGNORED)
    y[0] = classes[question]
    return Data(x=x, edge_index=edge_index, y=y)
