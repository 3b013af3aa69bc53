"""A fixed part of a dataset: drawn once by a stated rule, and kept as the numbers of its graphs."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch

from gredkit import ranges
from gredkit.data.task import SPLITS, Task
from gredkit.errors import UserError
from gredkit.paths import SHIPPED

RULE = "of each split, sorted by {what}, graphs at equal distances from a random first one (seed {seed})"


def draw(task: Task, sizes: Mapping[str, int], seed: int) -> dict[str, list[int]]:
    """So many graphs of each split, in which each class (or combination of labels) keeps its share.

    The graphs of a split are sorted by their targets, which puts equal ones side by side, and graphs at equal distances
    are taken; a random order decides among equal ones. Graphs whose nodes have targets are sorted by size.
    """
    ranges.seed(seed)
    rng = np.random.default_rng(seed)
    drawn = {}
    for split in SPLITS:
        members = np.asarray(task.splits[split])
        ranges.whole(f"the number of graphs in {split}", sizes[split], 1, len(members))
        members = members[rng.permutation(len(members))]
        targets = torch.stack([_target(task, int(i)) for i in members]).numpy()
        order = np.lexsort(targets.T[::-1])
        places = ((np.arange(sizes[split]) + rng.random()) * len(members) / sizes[split]).astype(np.int64)
        drawn[split] = np.sort(members[order[places]]).tolist()
    return drawn


def _target(task: Task, number: int) -> torch.Tensor:
    """What a graph is sorted by. Shape: -> [targets]"""
    graph = task.graphs[number]
    is_one = task.spec.level == "graph"
    return graph.y.double().flatten() if is_one else torch.tensor([float(graph.num_nodes)])


def write(path: Path, dataset: str, task: Task, drawn: Mapping[str, list[int]], seed: int) -> None:
    """Numbers of graphs as JSON, one line per split."""
    of = {split: len(task.splits[split]) for split in SPLITS}
    about = {
        "dataset": dataset,
        "rule": RULE.format(what="target" if task.spec.level == "graph" else "size", seed=seed),
        "of": of,
    }
    lines = [f'"{key}": {json.dumps(value)}' for key, value in {**about, **drawn}.items()]
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n")


def place_of(file: str) -> Path:
    """A file of that name in the working folder, or else gredkit's own."""
    return Path(file) if Path(file).exists() else SHIPPED / file


def read(path: Path) -> dict[str, Any]:
    """What `write` wrote."""
    try:
        found = json.loads(path.read_text())
        if not {"dataset", "rule", "of", *SPLITS} <= found.keys():
            raise ValueError("keys are missing")
        return found
    except (OSError, ValueError, AttributeError) as error:
        raise UserError(
            f"{path} does not hold a subset ({type(error).__name__}): draw one with python -m gredkit.data subset"
        ) from error


def in_words(found: Mapping[str, Any]) -> str:
    """How large a part it is, and how it was drawn: `1,087 of 10,873 training graphs of peptides_func; …`."""
    sizes = {split: f"{len(found[split]):,} of {found['of'][split]:,}" for split in SPLITS}
    train = f"{sizes.pop('train')} training graphs of {found['dataset']}"
    others = ", ".join(f"{size} for {split}" for split, size in sizes.items())
    return f"{train}; {others}; {found['rule']}"


def share(said: str) -> str:
    """The first part of these words, which says how large the training split is."""
    return said.partition(";")[0]


def whole(said: str) -> str:
    """The name of the dataset that is meant by these words."""
    return share(said).rpartition(" of ")[2]


def checked(found: Mapping[str, Any], task: Task, path: Path) -> dict[str, list[int]]:
    """The graphs of each split, if they belong to the dataset as it is."""
    sizes = {split: len(task.splits[split]) for split in SPLITS}
    if found["of"] != sizes or any(not set(found[split]) <= set(task.splits[split]) for split in SPLITS):
        raise UserError(f"{path} is of other splits of {found['dataset']}: draw it again")
    return {split: found[split] for split in SPLITS}
