"""What every task does that comes with the package and needs no download."""

import hashlib
from functools import cache
from typing import Any

import numpy as np
import pytest
import torch
from torch_geometric.data import Batch
from torch_geometric.utils import is_undirected

from gredkit import GRED, add_hops
from gredkit.data.objectives import IGNORED
from gredkit.data.task import SPLITS, Columns, Task
from gredkit.registry import DATASETS

# A size that is made in no time, and the checksum of what comes out.
EMBEDDED: dict[str, tuple[dict[str, Any], str]] = {
    "cluster_sbm": ({"train": 12, "validation": 4, "test": 4}, "b4162616dbc24216"),
    "digits": ({}, "b15615b6aa8a7fe7"),
    "echo_diameter": ({"copies": 1, "least": 10, "most": 14}, "2ff1ee059f550368"),
    "echo_eccentricity": ({"copies": 1, "least": 10, "most": 14}, "24f8e8993021b860"),
    "echo_sssp": ({"copies": 1, "least": 10, "most": 14}, "0aa67e0fbb983378"),
    "ising": ({"graphs": 20, "size": 6}, "35b1fefdc8e0ffb4"),
    "molecules": ({"lines": 400}, "1ec5de1ffca96e03"),
    "pattern_sbm": ({"train": 12, "validation": 4, "test": 4, "patterns": 4}, "990b49c22a345293"),
    "ring_transfer": ({"graphs": 50}, "e02c8f05e1836837"),
    "tree_match": ({"depth": 3, "graphs": 50}, "48a5ad972a16051e"),
}
names = pytest.mark.parametrize("name", EMBEDDED)


def build(name: str, **overrides: Any) -> Task:
    return DATASETS[name](**{**EMBEDDED[name][0], **overrides})


@cache
def built(name: str) -> Task:
    return build(name)


def tensors(task: Task) -> list[torch.Tensor]:
    """All that a task consists of, in order."""
    splits = [torch.tensor(list(task.splits[split])) for split in SPLITS]
    return splits + [value for graph in task.graphs for _, value in sorted(graph.to_dict().items())]


def equal(one: Task, other: Task) -> bool:
    pairs = zip(tensors(one), tensors(other), strict=True)
    return all(a.dtype == b.dtype and torch.equal(a, b) for a, b in pairs)


def checksum(task: Task) -> str:
    """Of the integers; of other columns the first, in sixteenths, but nothing of molecules' targets."""
    digest = hashlib.sha256()
    for tensor in tensors(task):
        if tensor.is_floating_point():
            tensor = (tensor[:, :1] * 16).long() if task.name != "molecules" else torch.tensor(tensor.shape)
        digest.update(np.array(tensor.shape, "<i8").tobytes())
        digest.update(np.ascontiguousarray(tensor.numpy(), "<i8").tobytes())
    return digest.hexdigest()[:16]


def assert_columns(values: torch.Tensor, columns: Columns) -> None:
    """As many columns as are told, and categories of their vocabulary."""
    table = values.view(len(values), -1)
    if isinstance(columns, int):
        assert (table.shape[1], values.dtype) == (columns, torch.float32)
        assert values.isfinite().all()
    else:
        assert (table.shape[1], values.dtype) == (len(columns), torch.int64)
        assert (table >= 0).all()
        assert (table < torch.tensor(columns)).all()


@names
def test_a_seed_gives_the_same_task_and_another_seed_another(name):
    task, other = built(name), build(name, seed=8)
    assert equal(task, build(name, seed=0))  # the default
    assert not equal(task, other)
    assert [len(task.splits[split]) for split in SPLITS] == [len(other.splits[split]) for split in SPLITS]


@names
def test_the_task_is_the_same_everywhere(name):
    """A difference means that another platform or version of numpy, torch, scikit-learn or RDKit gives other data."""
    assert checksum(built(name)) == EMBEDDED[name][1]


@names
def test_every_graph_is_in_one_split(name):
    task = built(name)
    assert list(task.splits) == list(SPLITS)
    members = [i for split in SPLITS for i in task.splits[split]]
    assert sorted(members) == list(range(len(task.graphs)))
    assert all(len(task.splits["train"]) > len(task.splits[split]) > 0 for split in SPLITS[1:])


@names
def test_graphs_carry_what_the_task_tells(name):
    task = built(name)
    spec = task.spec
    assert task.name == name
    for graph in task.graphs:
        graph.validate()
        assert_columns(graph.x, spec.nodes)
        assert graph.edge_index.dtype == torch.int64
        assert is_undirected(graph.edge_index, graph.edge_attr, graph.num_nodes)
        assert not graph.has_self_loops()
        assert ("edge_attr" in graph) == (spec.edges is not None)
        if spec.edges is not None:
            assert_columns(graph.edge_attr, spec.edges)
    if isinstance(spec.nodes, tuple):  # no vocabulary is larger than need be
        most = torch.cat([graph.x for graph in task.graphs]).max(0).values
        assert (most + 1).tolist() == list(spec.nodes)


@names
def test_answers_have_the_shape_of_the_task(name):
    task = built(name)
    answers = set()
    for graph in task.graphs:
        if task.objective.kind == "regression":
            items = graph.num_nodes if task.spec.level == "node" else 1
            assert (graph.y.shape, graph.y.dtype) == ((items, task.spec.outputs), torch.float32)
            assert graph.y.isfinite().all()
            continue
        assert graph.y.dtype == torch.int64
        assert graph.y.shape == ((graph.num_nodes,) if task.spec.level == "node" else (1,))
        assert (graph.y != IGNORED).any()
        answers.update(graph.y[graph.y != IGNORED].tolist())
    if task.objective.kind != "regression":
        assert answers == set(range(task.spec.outputs))


@names
def test_a_small_model_learns_from_a_batch(name):
    task = built(name)
    torch.manual_seed(0)
    features = "dense" if isinstance(task.spec.nodes, int) else "categorical"
    edge_features = "categorical" if task.spec.edges else None
    model = GRED(task.spec, dim=8, layers=1, features=features, edge_features=edge_features)
    batch = Batch.from_data_list([add_hops(graph, K=None) for graph in task.part("train")[:8]])
    optimiser = torch.optim.Adam(model.parameters(), 3e-3)
    losses = []
    for _ in range(20):
        optimiser.zero_grad()
        loss = task.objective.loss(model(batch), batch.y)
        loss.backward()
        assert all(p.grad is not None and p.grad.isfinite().all() for p in model.parameters())
        optimiser.step()
        losses.append(loss.item())
    assert np.isfinite(losses).all()
    assert losses[-1] < losses[0]
    assert np.isfinite(task.objective.metric.score(model(batch), batch.y))
