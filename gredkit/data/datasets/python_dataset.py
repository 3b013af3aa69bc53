import difflib
import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from torch import Tensor
from torch_geometric.data import Data

from gredkit import ranges
from gredkit.data.objectives import objective
from gredkit.data.own.infer import infer
from gredkit.data.own.sound import check_task
from gredkit.data.splits import Splits, checked_split, drawn_split, split_nodes
from gredkit.data.task import LEVELS, Task
from gredkit.errors import UserError
from gredkit.imports import call_own, import_own
from gredkit.registry import DATASETS

MASKS = {"train": "train_mask", "validation": "val_mask", "test": "test_mask"}  # PyG's names


@DATASETS.register("python_dataset")
def python_dataset(
    target: str = "",
    arguments: Mapping[str, Any] | None = None,
    task: str = "classification",
    level: str = "graph",
    seed: int = 0,
) -> Task:
    """Any PyG dataset, or the graphs that your own function returns, named by its dotted path.

    The function or class may return a `Task`, which is used unchanged; a PyG dataset or any list of `Data`; a
    pair of such a list and {'train': numbers, 'validation': …, 'test': …}; or {'train': graphs, …}. Integers in
    `x` and `edge_attr` are categories, floats are numbers. For level 'node', nodes are split by `train_mask`,
    `val_mask` and `test_mask` if the graphs have them. Otherwise 80, 10 and 10 % of the graphs are drawn, with
    an equal share of each class.

    target: 'package.module:name' or 'package.module.name'; modules in the working folder are found
    arguments: passed to the function or class
    task: kind of task: classification, balanced_classification, labels or regression
    level: 'graph' or 'node': what has a target
    seed: determines the split if none is given
    """
    goal = objective(task)
    ranges.seed(seed)
    ranges.one_of("level", level, LEVELS)
    given = _called(_found(target), target, dict(arguments or {}))
    if isinstance(given, Task):
        return check_task(given, target)
    raw, splits = _graphs_and_splits(given, target)
    graphs, spec = infer(raw, task, level, target)
    drawn = "given"
    if splits is None and level == "node" and any(mask in graph for graph in raw for mask in MASKS.values()):
        graphs, splits = split_nodes(graphs, _masks(raw, target), task)
        drawn = "given for nodes"
    if splits is None:
        graphs, splits, drawn = drawn_split(graphs, task, level, seed)
    name = target.replace(":", ".").rpartition(".")[2]
    return Task(name, spec, graphs, splits, goal, notes={"target": target, "split": drawn})


def graphs_of(target: str) -> list[Data]:
    """Only the graphs that a function or class returns."""
    given = _called(_found(target), target, {})
    return list(given.graphs) if isinstance(given, Task) else _graphs_and_splits(given, target)[0]


def _found(target: str) -> Callable[..., Any]:
    """The function or class with this dotted path."""
    module_name, _, name = target.partition(":") if ":" in target else target.rpartition(".")
    if not module_name or not name:
        raise UserError(f"target is {target!r}: set datasets.python_dataset.target to 'package.module:function'")
    found: Any = import_own(module_name)
    for part in name.split("."):
        if not hasattr(found, part):
            near = difflib.get_close_matches(part, dir(found), n=1)
            hint = f": did you mean {near[0]!r}?" if near else ": correct the name"
            raise UserError(f"there is no {part!r} in {module_name!r}, which target {target!r} names{hint}")
        found = getattr(found, part)
    if not callable(found):
        raise UserError(f"target {target!r} is {type(found).__name__}, not a function or class: name one that is")
    return found


def _called(function: Callable[..., Any], target: str, arguments: dict[str, Any]) -> Any:
    try:
        inspect.signature(function).bind(**arguments)
    except TypeError as error:
        raise UserError(f"cannot call {target!r} with arguments {arguments}: {error}") from None
    return call_own(function, target, **arguments)


def _graphs_and_splits(given: Any, target: str) -> tuple[list[Data], Splits | None]:
    """The graphs of any accepted return value, and the splits if it has them."""
    if isinstance(given, Mapping):
        graphs: list[Data] = []
        numbers: dict[str, range] = {}
        for split, part in given.items():
            begin = len(graphs)
            graphs += _listed(part, target)
            numbers[split] = range(begin, len(graphs))
        return graphs, checked_split(numbers, len(graphs))
    if isinstance(given, tuple) and len(given) == 2 and isinstance(given[1], Mapping):
        graphs = _listed(given[0], target)
        return graphs, checked_split(given[1], len(graphs))
    return _listed(given, target), None


def _listed(given: Any, target: str) -> list[Data]:
    if isinstance(given, Data):
        return [given]
    graphs = list(given) if isinstance(given, Iterable) else []
    if not graphs:
        raise UserError(f"{target} gives {type(given).__name__} and no graphs: return a list of Data, or a Task")
    return graphs


def _masks(graphs: list[Data], target: str) -> dict[str, list[Tensor]]:
    """Shape: for each split and graph: [nodes]"""
    for i, graph in enumerate(graphs):
        for key in MASKS.values():
            mask = graph.get(key)
            if not isinstance(mask, Tensor) or mask.shape != (graph.num_nodes,):
                raise UserError(f"{key} of graph {i} of {target} does not have one value per node: give it that shape")
    return {split: [graph[key].bool() for graph in graphs] for split, key in MASKS.items()}
