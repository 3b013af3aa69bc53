"""Infer the features and targets of PyG `Data` from their tensors."""

from collections.abc import Sequence

import torch
from torch import Tensor
from torch_geometric.data import Data

from gredkit.data.objectives import CLASSES, IGNORED
from gredkit.data.own.cells import CATEGORIES
from gredkit.data.own.sound import check_edges_of, check_tensors
from gredkit.data.task import Columns, GraphSpec
from gredkit.errors import UserError

SIZED = ("x", "pos", "num_nodes")  # any of these says how many nodes there are


def infer(graphs: Sequence[Data], task: str, level: str, origin: str) -> tuple[list[Data], GraphSpec]:
    """The graphs with `x`, `edge_index`, `edge_attr` and `y` in the form of a task, and their specification.

    Integers in `x` and `edge_attr` are categories, floats are numbers; without `x` every node has the same
    symbol. Error messages name `origin` as the source of the graphs.
    """
    for i, graph in enumerate(graphs):
        if not isinstance(graph, Data):
            raise UserError(f"{origin} gives {type(graph).__name__} as graph {i}: give torch_geometric Data")
        if not any(key in graph for key in SIZED):
            raise UserError(f"graph {i} of {origin} does not say how many nodes it has: give it x or num_nodes")
        check_tensors(graph, f"graph {i} of {origin}")
        if not graph.num_nodes:
            raise UserError(f"graph {i} of {origin} has no nodes: leave it out")
        check_edges_of(graph, f"graph {i} of {origin}")
    x, nodes = _features([graph.x for graph in graphs], "x", [graph.num_nodes for graph in graphs], origin)
    links = [graph.num_edges for graph in graphs]
    edge_attr, edges = _features([graph.edge_attr for graph in graphs], "edge_attr", links, origin)
    y = _targets(graphs, task, level, origin)
    outputs = max(int(target.max()) for target in y) + 1 if task in CLASSES else y[0].shape[1]
    if task in CLASSES and outputs < 2:
        raise UserError(f"all targets of {origin} are class 0: training needs at least two classes")
    made = []
    for i, graph in enumerate(graphs):
        edge_index = graph.edge_index if graph.edge_index is not None else torch.empty(2, 0, dtype=torch.long)
        symbol = torch.zeros(graph.num_nodes, 1, dtype=torch.long)
        made.append(Data(x=x[i] if x else symbol, edge_index=edge_index, y=y[i]))
        if edge_attr:
            made[i].edge_attr = edge_attr[i]
    return made, GraphSpec(nodes=nodes or (1,), outputs=outputs, edges=edges, level=level)


def _features(
    tensors: Sequence[Tensor | None], key: str, counts: Sequence[int], origin: str
) -> tuple[list[Tensor], Columns | None]:
    """Shape: each [items] or [items, columns] -> [items, columns]"""
    missing = [i for i, tensor in enumerate(tensors) if tensor is None]
    if len(missing) == len(tensors):
        return [], None
    if missing:
        raise UserError(f"graph {missing[0]} of {origin} has no {key}, but others do: give it to all graphs or none")
    made: list[Tensor] = []
    for i, (tensor, count) in enumerate(zip(tensors, counts, strict=True)):
        which = f"{key} of graph {i} of {origin}"
        assert tensor is not None
        if len(tensor) != count:
            raise UserError(f"{which} has {len(tensor)} rows, not {count}: give one for each")
        table = tensor.reshape(count, -1) if count else tensor.reshape(0, *tensor.shape[1:] or (1,))
        table = table.to(torch.float if tensor.is_floating_point() else torch.long)
        if made and (table.dtype, table.shape[1:]) != (made[0].dtype, made[0].shape[1:]):
            raise UserError(
                f"{which} has {table.shape[1]} columns of {table.dtype}, but that of graph 0 has {made[0].shape[1]} of "
                f"{made[0].dtype}: make them equal"
            )
        if not table.isfinite().all():
            raise UserError(f"{which} contains NaN or infinity: replace it, or leave the graph out")
        if not tensor.is_floating_point() and not ((table >= 0) & (table < CATEGORIES)).all():
            raise UserError(
                f"{which} has a category outside 0 to {CATEGORIES - 1}: number them from 0, or make {key} float "
                f"if it holds numbers"
            )
        made.append(table)
    if made[0].is_floating_point():
        return made, made[0].shape[1]
    largest = torch.stack([table.amax(0) for table in made if len(table)] or [made[0].new_zeros(made[0].shape[1])])
    return made, tuple((largest.amax(0) + 1).tolist())


def _targets(graphs: Sequence[Data], task: str, level: str, origin: str) -> list[Tensor]:
    """Shape: [1] or [nodes] for classes, [1, targets] or [nodes, targets] otherwise"""
    made: list[Tensor] = []
    for i, graph in enumerate(graphs):
        which = f"y of graph {i} of {origin}"
        if not isinstance(graph.y, Tensor):
            raise UserError(f"{which} is {type(graph.y).__name__}: give every graph a tensor y")
        items = graph.num_nodes if level == "node" else 1
        size = graph.y.numel()
        if not size or size % items or (task in CLASSES and size != items):
            raise UserError(
                f"{which} has {size} values for {items} {level}{'s' * (items > 1)}: "
                f"check level={level!r} and task={task!r}"
            )
        if task in CLASSES:
            made.append(_classes(graph.y.reshape(-1), level == "node" and task == "classification", which))
            continue
        y = graph.y.reshape(items, -1).float()
        if made and y.shape[1] != made[0].shape[1]:
            raise UserError(f"{which} has {y.shape[1]} targets, that of graph 0 {made[0].shape[1]}: make them equal")
        if task == "regression" and not y.isfinite().all():
            raise UserError(f"{which} contains NaN or infinity: leave the graph out")
        if task == "labels" and not ((y == 0) | (y == 1) | y.isnan()).all():
            raise UserError(f"{which} has a value other than 0, 1 and NaN: labels are yes-or-no targets")
        made.append(y)
    return made


def _classes(y: Tensor, some_are_not_asked: bool, which: str) -> Tensor:
    value = y.double()
    fits = (value >= 0) & (value < CATEGORIES) & (value == value.floor())
    if not (fits | (value == IGNORED) if some_are_not_asked else fits).all():
        raise UserError(
            f"{which} is not a class: number the classes 0, 1, 2, …, or set task='regression' for numbers to predict"
        )
    return y.long()
