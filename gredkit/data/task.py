"""What a dataset hands to a trial."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from torch_geometric.data import Data

from gredkit import ranges
from gredkit.data.objectives import Objective

Columns = int | tuple[int, ...]  # how many dense columns, or the vocabulary of each categorical one
LEVELS = ("graph", "node")
SPLITS = ("train", "validation", "test")


@dataclass(frozen=True)
class GraphSpec:
    """What the graphs of a task carry: columns of nodes and edges, and how many outputs are wanted for what."""

    nodes: Columns
    outputs: int
    edges: Columns | None = None
    level: str = "graph"  # one answer a graph, or one a node

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
    """Graphs with `x`, `edge_index`, `y` (and `edge_attr`), which of them train, and what counts as good.

    `splits` lists the graphs of `train`, `validation` and `test`. `notes` says what a reader of the results
    should know (which folds, what was left out); it is tracked with every run. `reading` says how tables or
    SMILES become such graphs, for `gredkit.data.own.unlabelled`; it is stored with every trained model.
    Shape: y of a graph [1, targets] for regression and several labels, [1] for classes; [nodes] for level 'node'
    """

    name: str
    spec: GraphSpec
    graphs: Sequence[Data]
    splits: Mapping[str, Sequence[int]]
    objective: Objective
    notes: Mapping[str, Any] = field(default_factory=dict)
    reading: Mapping[str, Any] = field(default_factory=dict)  # as JSON keeps it

    def part(self, split: str) -> list[Data]:
        """The graphs of a split."""
        return [self.graphs[i] for i in self.splits[split]]
