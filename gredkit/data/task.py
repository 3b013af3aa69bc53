"""What a dataset hands to a trial."""

from collections.abc import Callable
from dataclasses import dataclass

from torch import Tensor
from torch_geometric.data import Data

Columns = int | tuple[int, ...]  # how many dense columns, or the vocabulary of each categorical one


@dataclass(frozen=True)
class GraphSpec:
    """What the graphs of a task carry: columns of nodes and edges, and how many outputs are wanted."""

    nodes: Columns
    outputs: int
    edges: Columns | None = None


@dataclass(frozen=True)
class Task:
    """Graphs in three splits, with the loss to train by and the metric to choose and report by."""

    name: str
    spec: GraphSpec
    train: list[Data]
    validation: list[Data]
    test: list[Data]
    loss: Callable[[Tensor, Tensor], Tensor]
    metric: Callable[[Tensor, Tensor], float]
    metric_name: str
    larger_is_better: bool
