"""Check graphs and tasks that a user made."""

from typing import Any

import torch
from torch import Tensor
from torch_geometric.data import Data

from gredkit.data.hops.index import check_edges
from gredkit.data.objectives import CLASSES
from gredkit.data.task import SPLITS, Columns, Task
from gredkit.errors import UserError


def check_task(task: Any, origin: str) -> Task:
    """The same task, after checking that a model can be trained on it; messages name `origin` as its source."""
    if not isinstance(task, Task):
        raise UserError(f"{origin} gives {type(task).__name__}, not a Task: return a gredkit.data.task.Task")
    if not len(task.graphs):
        raise UserError(f"{origin} has no graphs: give it some")
    for split in SPLITS:
        members = task.splits.get(split, ())
        if not len(members):
            raise UserError(f"{origin} has no graphs in its {split} split: give it at least one")
        if min(members) < 0 or max(members) >= len(task.graphs):
            raise UserError(f"the {split} split of {origin} names a graph beyond its {len(task.graphs)}: correct it")
    for i, graph in enumerate(task.graphs):
        which = f"graph {i} of {origin}"
        check_graph(graph, which)
        _check_columns(graph.x, task.spec.nodes, graph.num_nodes, f"x of {which}")
        if task.spec.edges is not None:
            _check_columns(graph.edge_attr, task.spec.edges, graph.num_edges, f"edge_attr of {which}")
        _check_target(graph.y, task, graph.num_nodes, f"y of {which}")
    return task


def check_graph(graph: Any, which: str) -> None:
    """Raise unless it is a PyG graph with nodes, valid edges and finite numbers."""
    if not isinstance(graph, Data):
        raise UserError(f"{which} is {type(graph).__name__}: give torch_geometric Data")
    check_tensors(graph, which)
    if not graph.num_nodes:
        raise UserError(f"{which} has no nodes: leave it out")
    check_edges_of(graph, which)


def check_tensors(graph: Data, which: str) -> None:
    """Raise unless its features are tensors of finite numbers; called before PyG counts the nodes from them."""
    for key in ("x", "edge_attr"):
        value = graph.get(key)
        if value is not None and not isinstance(value, Tensor):
            raise UserError(f"{key} of {which} is {type(value).__name__}: give a tensor")
        if value is not None and value.dim() == 0:
            raise UserError(f"{key} of {which} is a single number: give one row for each node or edge")
        if value is not None and value.is_floating_point() and not value.isfinite().all():
            raise UserError(f"{key} of {which} contains NaN or infinity: replace it, or leave the graph out")
    if graph.edge_index is not None:
        try:
            check_edges(graph.edge_index)
        except UserError as error:
            raise UserError(f"{which}: {error}") from None


def check_edges_of(graph: Data, which: str) -> None:
    """Raise if an edge names a node that does not exist."""
    edges = graph.edge_index
    if edges is not None and edges.numel() and not 0 <= int(edges.min()) <= int(edges.max()) < graph.num_nodes:
        raise UserError(f"edge_index of {which} names a node that does not exist: nodes are 0 to {graph.num_nodes - 1}")


def _check_columns(value: Tensor | None, columns: Columns, rows: int, which: str) -> None:
    width = columns if isinstance(columns, int) else len(columns)
    if value is None or len(value) != rows or value.numel() != rows * width:
        shape = "missing" if value is None else " x ".join(map(str, value.shape))
        raise UserError(f"{which} is {shape}, but its spec says {rows} rows of {width} columns: make them agree")
    if not isinstance(columns, int):
        table = value.reshape(rows, width)
        if ((table < 0) | (table >= torch.tensor(columns))).any():
            raise UserError(f"{which} has a category outside the vocabulary in its spec: make them agree")


def _check_target(y: Any, task: Task, nodes: int, which: str) -> None:
    items = nodes if task.spec.level == "node" else 1
    kind, outputs = task.objective.kind, task.spec.outputs
    if not isinstance(y, Tensor) or y.numel() != items * (1 if kind in CLASSES else outputs):
        raise UserError(f"{which} does not have the right size: give one target for each {task.spec.level}")
    if kind in CLASSES and (y.is_floating_point() or int(y.max()) >= outputs):
        raise UserError(f"{which} is not a class from 0 to {outputs - 1}: correct it, or the outputs of the spec")
    if kind == "regression" and not y.isfinite().all():
        raise UserError(f"{which} contains NaN or infinity: leave the graph out")
