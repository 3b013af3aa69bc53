"""Which graphs are for training, validation and test."""

from collections.abc import Mapping, Sequence
from copy import copy

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.utils import index_to_mask

from gredkit import ranges
from gredkit.data.objectives import CLASSES, IGNORED
from gredkit.data.task import SPLITS
from gredkit.errors import UserError

Splits = dict[str, list[int]]


def consecutive_split(*sizes: int) -> dict[str, range]:
    """The first graphs for training, the next for validation, the last for test; `sizes` are the three counts."""
    for split, size in zip(SPLITS, sizes, strict=True):
        ranges.whole(f"the number of graphs in {split}", size, 0)
    ends = np.cumsum(sizes).tolist()
    return {split: range(end - size, end) for split, size, end in zip(SPLITS, sizes, ends, strict=True)}


def check_shares(train: float, validation: float) -> None:
    """Raise a `UserError` unless both shares are positive and leave some graphs for the test."""
    numbers = ranges.is_finite(train) and ranges.is_finite(validation)
    if not (numbers and train > 0 and validation > 0 and train + validation < 1):
        raise UserError(
            f"train={ranges.said(train)} and validation={ranges.said(validation)} are shares of all graphs: "
            f"choose both above 0 and together below 1, because the rest is for the test"
        )


def sizes_of(count: int, train: float, validation: float) -> tuple[int, int, int]:
    """The numbers of graphs for training, validation and test."""
    check_shares(train, validation)
    first, second = round(train * count), round((train + validation) * count)
    return first, second - first, count - second


def seeded_split(
    count: int,
    seed: int = 0,
    classes: Sequence[int] | np.ndarray | None = None,
    train: float = 0.8,
    validation: float = 0.1,
    what: str = "graph",
) -> Splits:
    """Draw training, validation and test parts by a seed; each has at least one member.

    seed: determines the drawing
    classes: the class of each member; every part then contains the classes in equal proportion (test in
        proportion to all members, validation in proportion to what the test part left)
    train, validation: shares of all members; the rest is for the test
    what: the word for a member in error messages
    """
    if count < 3:
        raise UserError(
            f"{count} {what}{'s' * (count != 1)} cannot be split into {', '.join(SPLITS)}: at least 3 are needed"
        )
    rng = np.random.default_rng(seed)
    order = rng.permutation(count)
    if classes is not None:
        order = order[np.argsort(np.asarray(classes)[order], kind="stable")]
    _, validate, testing = sizes_of(count, train, validation)
    test = _evenly(count, max(testing, 1), rng)
    rest = np.delete(order, test)
    middle = _evenly(len(rest), max(validate, 1), rng)
    parts = np.delete(rest, middle), rest[middle], order[test]
    return {split: np.sort(part).tolist() for split, part in zip(SPLITS, parts, strict=True)}


def given_split(names: Sequence[str] | np.ndarray) -> Splits:
    """The splits from a column that names the split of each graph."""
    column = np.asarray(names, dtype=object)
    return checked_split({split: np.flatnonzero(column == split).tolist() for split in SPLITS}, len(column))


def checked_split(splits: Mapping[str, Sequence[int]], count: int, what: str = "graph") -> Splits:
    """The same lists, checked: every split has a graph, and no graph is in two splits."""
    for split in splits:
        if split not in SPLITS:
            raise UserError(f"{split!r} is not a split: name them {', '.join(SPLITS)}")
    owner: dict[int, str] = {}
    result = {split: [int(i) for i in splits.get(split, ())] for split in SPLITS}
    for split, members in result.items():
        if not members:
            raise UserError(f"no {what} is in the split {split!r}: give each of {', '.join(SPLITS)} at least one")
        for i in members:
            if not 0 <= i < count:
                raise UserError(f"the split {split!r} names {what} {i}, but there are {count}, numbered from 0")
            if i in owner:
                raise UserError(f"{what} {i} is in {owner[i]} and in {split}: leave it in one of them")
            owner[i] = split
    return result


def drawn_split(graphs: Sequence[Data], task: str, level: str, seed: int) -> tuple[list[Data], Splits, str]:
    """`seeded_split` of the graphs, or of the nodes if there is only one graph; with a note that says so."""
    if level == "node" and len(graphs) == 1:
        (graph,) = graphs
        members = seeded_split(graph.num_nodes, seed, graph.y.numpy() if task in CLASSES else None, what="node")
        masks = {split: [index_to_mask(torch.tensor(members[split]), graph.num_nodes)] for split in SPLITS}
        return *split_nodes(graphs, masks, task), f"nodes drawn by seed {seed}"
    classes = torch.cat([graph.y for graph in graphs]).numpy() if task in CLASSES and level == "graph" else None
    return list(graphs), seeded_split(len(graphs), seed, classes), f"drawn by seed {seed}"


def split_nodes(graphs: Sequence[Data], masks: Mapping[str, Sequence[Tensor]], task: str) -> tuple[list[Data], Splits]:
    """Graphs whose nodes are split: one copy per split, in which the nodes of other splits have no target.

    Shape: masks, for each split and graph: [nodes]
    """
    if task not in ("classification", "labels"):
        raise UserError(f"nodes of a graph can be split for classification and labels, not for {task}: split graphs")
    nobody = IGNORED if task == "classification" else float("nan")
    parts: list[Data] = []
    splits: Splits = {}
    for split in SPLITS:
        begin = len(parts)
        for graph, mask in zip(graphs, masks[split], strict=True):
            if mask.any():
                part = copy(graph)  # shares all tensors but y
                part.y = torch.where(mask.view(-1, *[1] * (graph.y.dim() - 1)), graph.y, nobody)
                parts.append(part)
        splits[split] = list(range(begin, len(parts)))
    return parts, checked_split(splits, len(parts), "node")


def _evenly(count: int, chosen: int, rng: np.random.Generator) -> np.ndarray:
    """Choose `chosen` of `count` places at equal distances, so that every range of places gets its share."""
    return ((np.arange(chosen) + rng.random()) * count / chosen).astype(np.int64)
