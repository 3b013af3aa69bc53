"""The real benchmarks against what was published of them; not part of the suite, since it needs their files.

GREDKIT_DATA=FOLDER pytest tests/data/real_statistics.py

Checks the datasets whose folders are there. Superpixels that were cut anew from the pictures differ from the
published ones by some percent in the number of nodes.
"""

import os
from pathlib import Path
from typing import NamedTuple

import pytest
import torch
from torch import Tensor

from gredkit.data.task import SPLITS, Task
from gredkit.registry import DATASETS


class Published(NamedTuple):
    folder: str
    splits: tuple[int, int, int]  # of fold 0, for those that have folds
    nodes: float  # on average
    edges: float  # on average, each direction counted
    within: float  # the relative error that rounding in print leaves


PUBLISHED = {
    "zinc": Published("ZINC", (10000, 1000, 1000), 277_864 / 12_000, 49.83, 1e-4),
    "mnist": Published("MNIST", (55000, 5000, 10000), 70.57, 564.53, 0.1),
    "cifar10": Published("CIFAR10", (45000, 5000, 10000), 117.63, 941.07, 0.1),
    "pattern": Published("PATTERN", (10000, 2000, 2000), 118.9, 6098.9, 1e-3),
    "cluster": Published("CLUSTER", (10000, 1000, 1000), 117.2, 4303.9, 1e-3),
    "peptides_func": Published("peptides-func", (10873, 2331, 2331), 2_344_859 / 15_535, 4_773_974 / 15_535, 1e-9),
    "peptides_struct": Published("peptides-struct", (10873, 2331, 2331), 2_344_859 / 15_535, 4_773_974 / 15_535, 1e-9),
    "nci1": Published("NCI1", (3328, 370, 412), 29.87, 2 * 32.30, 1e-3),
    "proteins": Published("PROTEINS", (900, 101, 112), 39.06, 2 * 72.82, 1e-3),
}
CLASSES = {"nci1": [2053, 2057], "proteins": [663, 450]}
ROOT = Path(os.environ["GREDKIT_DATA"])
THERE = [name for name, published in PUBLISHED.items() if (ROOT / published.folder / "raw").is_dir()]


@pytest.fixture(scope="module", params=THERE)
def task(request: pytest.FixtureRequest) -> Task:
    return DATASETS[request.param]()


def column(task: Task, key: str) -> Tensor:
    return torch.cat([graph[key] for graph in task.graphs])


def test_counts(task):
    published = PUBLISHED[task.name]
    assert tuple(len(task.splits[split]) for split in SPLITS) == published.splits
    nodes = sum(graph.num_nodes for graph in task.graphs) / len(task.graphs)
    edges = sum(graph.num_edges for graph in task.graphs) / len(task.graphs)
    print(f"{task.name}: {len(task.graphs)} graphs, {nodes:.4f} nodes, {edges:.4f} edges")
    assert nodes == pytest.approx(published.nodes, rel=published.within)
    assert edges == pytest.approx(published.edges, rel=published.within)
    if task.name in ("mnist", "cifar10"):  # each patch is joined to the eight nearest
        assert edges == 8 * nodes


def test_categories_are_within_their_vocabularies(task):
    for key, columns in (("x", task.spec.nodes), ("edge_attr", task.spec.edges)):
        if isinstance(columns, tuple):
            values = column(task, key)
            print(f"{task.name}: largest categories of {key} {values.amax(0).tolist()}, vocabularies {list(columns)}")
            assert values.min() >= 0
            assert (values.amax(0) < torch.tensor(columns)).all()


def test_targets(task):
    y = torch.cat([graph.y for graph in task.part("train")])
    if task.objective.metric.name == "mae":
        print(f"{task.name}: targets {y.mean(0).tolist()} ± {y.std(0).tolist()}")
        assert y.isfinite().all()
        if task.name == "zinc":
            assert y.mean().item() == pytest.approx(0.0153, abs=1e-4)
            assert y.std(correction=0).item() == pytest.approx(2.0108, abs=1e-4)
    elif task.objective.metric.name == "average_precision":
        print(f"{task.name}: shares of the labels {y.mean(0).tolist()}")
        assert set(y.unique().tolist()) == {0, 1}
        assert ((y.mean(0) > 0) & (y.mean(0) < 1)).all()
    else:
        counts = torch.bincount(column(task, "y"))
        print(f"{task.name}: classes {counts.tolist()}")
        assert len(counts) == task.spec.outputs
        assert (counts > 0).all()
        assert counts.tolist() == CLASSES.get(task.name, counts.tolist())


def test_all_folds_hold_each_graph_once(task):
    if "fold" not in task.notes:
        folds = [task.splits]
    else:
        folds = [DATASETS[task.name](fold=fold).splits for fold in range(10)]
        assert "given" in task.notes["folds"]
        assert sorted(i for fold in folds for i in fold["test"]) == list(range(len(task.graphs)))
    for fold in folds:
        assert sorted(i for split in SPLITS for i in fold[split]) == list(range(len(task.graphs)))
