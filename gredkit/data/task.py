"""A task: graphs, their splits, and the loss and metric. Every dataset returns one."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from torch_geometric.data import Data

from gredkit import ranges
from gredkit.data.objectives import Objective

Columns = int | tuple[int, ...]  # the number of dense columns, or the vocabulary size of each categorical one
LEVELS = ("graph", "node")
SPLITS = ("train", "validation", "test")


@dataclass(frozen=True)
class GraphSpec:
    """The features of the graphs of a task, and the outputs that a model must have."""

    nodes: Columns  # node features
    outputs: int  # outputs per graph or node: classes, labels or targets
    edges: Columns | None = None  # edge features, if there are any
    level: str = "graph"  # one prediction per 'graph' or per 'node'

    def __post_init__(self) -> None:
        ranges.one_of("level", self.level, LEVELS)
        ranges.whole("outputs", self.outputs)
        for name, columns in (("nodes", self.nodes), ("edges", self.edges)):
            for size in columns if isinstance(columns, tuple | list) else ():
                ranges.whole(f"a vocabulary of {name}", size)
            if columns is not None and not isinstance(columns, tuple | list):
                ranges.whole(name, columns, 0)


@dataclass(frozen=True)
class Task:
    """Graphs, their splits, and the loss and metric of the task.

    Shape: y of a graph [1] for classes, [1, targets] for regression and several labels; with level 'node' the
    first axis is the nodes
    """

    name: str
    spec: GraphSpec
    graphs: Sequence[Data]  # with `x`, `edge_index`, `y` and, if the spec has edges, `edge_attr`
    splits: Mapping[str, Sequence[int]]  # the numbers of the graphs in 'train', 'validation' and 'test'
    objective: Objective
    notes: Mapping[str, Any] = field(default_factory=dict)  # what a reader of the results should know; tracked
    # How tables or SMILES become such graphs, in values that JSON can store; kept with every trained model.
    reading: Mapping[str, Any] = field(default_factory=dict)

    def part(self, split: str) -> list[Data]:
        """The graphs of a split."""
        return [self.graphs[i] for i in self.splits[split]]
