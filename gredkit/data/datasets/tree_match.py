from math import factorial

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Data

from gredkit import ranges
from gredkit.data.objectives import IGNORED, objective
from gredkit.data.splits import check_shares, consecutive_split, sizes_of
from gredkit.data.task import SPLITS, GraphSpec, Task
from gredkit.registry import DATASETS

DEEPEST = 10  # 1024 leaves; the paper stops at 8


@DATASETS.register("tree_match")
def tree_match(
    depth: int = 3,
    graphs: int = 4000,
    train: float = 0.6,
    validation: float = 0.2,
    seed: int = 0,
    directed: bool = False,
    fit_only: bool = False,
) -> Task:
    """Every leaf of a binary tree has a count and a class; the root must predict the class of the leaf with its count.

    Tree-NeighborsMatch of Alon & Yahav (2021). The leaves, `depth` hops from the root, have the counts 1, 2, …
    from left to right (the numbers of neighbours in the paper's figure) and the classes in random order, each
    once. The root has a count and no class, the nodes between have neither; 0 stands for none. No two graphs are
    equal; with depth 2 only 96 different graphs exist, so at most 96 are drawn. Chance is 1 / 2^depth.

    The paper reports the accuracy on the training set for depth 2..8, because a bottleneck shows in what a model
    cannot even fit: all models reach 100 % up to depth 3; at depth 4 GGNN and GAT still do and GCN reaches 70 %;
    from depth 5 on none does.

    depth: depth of the tree, 1 to 10
    graphs: number of graphs
    train, validation: shares of the graphs; the rest is for the test
    seed: determines the graphs
    directed: whether edges go only towards the root, as in the paper, or in both directions
    fit_only: whether all graphs are for training, validation and test alike, so that every score says what the model
        can fit, as in the paper
    """
    ranges.whole("depth", depth, 1, DEEPEST)
    ranges.whole("graphs", graphs)
    check_shares(train, validation)
    ranges.seed(seed)
    leaves = 2**depth
    graphs = min(graphs, factorial(leaves) * leaves)
    edge_index = _tree(depth, directed)
    drawn = _draws(leaves, graphs, np.random.default_rng(seed))
    return Task(
        name="tree_match",
        spec=GraphSpec(nodes=(leaves + 1, leaves + 1), outputs=leaves, level="node"),
        graphs=[_graph(question, classes, edge_index) for question, *classes in drawn],
        splits=dict.fromkeys(SPLITS, range(graphs))
        if fit_only
        else consecutive_split(*sizes_of(graphs, train, validation)),
        objective=objective("classification"),
    )


def _tree(depth: int, directed: bool) -> Tensor:
    """Node 0 is the root, the children of v are 2v + 1 and 2v + 2; the leaves come last. Shape: -> [2, edges]"""
    child = torch.arange(1, 2 ** (depth + 1) - 1)
    parent = (child - 1) // 2
    upwards = torch.stack([child, parent])
    return upwards if directed else torch.cat([upwards, upwards.flip(0)], 1)


def _draws(leaves: int, graphs: int, rng: np.random.Generator) -> list[tuple[int, ...]]:
    """For each graph the leaf that is asked for, then the classes of all leaves; no two draws are equal."""
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
