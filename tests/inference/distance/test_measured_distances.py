"""Range and knock-out of models made by hand, whose answers are known."""

import json
import math
from dataclasses import replace
from functools import cache

import networkx as nx
import numpy as np
import pytest
import torch
from helpers.graphs import from_networkx
from nn.models.test_models_all import built, plain, prepared
from torch import nn
from torch_geometric.data import Batch

from gredkit.data.objectives import IGNORED, objective
from gredkit.data.task import GraphSpec, Task
from gredkit.inference.distance.distances import hops_from
from gredkit.inference.distance.knock_out import Hiding, answers_without_set
from gredkit.inference.distance.measured import measure
from gredkit.inference.distance.record import FEATURES, SETS, Measured, Sample
from gredkit.inference.distance.sample import asked, graphs_of, hops_of, nodes_of
from gredkit.nn.models.base import GraphModel
from gredkit.registry import MODELS

WEIGHTS = (0.5, 0.0, 2.0, -1.0)  # of hop 0, 1, 2 and 3
SMALL = Sample(graphs=3, nodes=2, pairs=2, directions=4)


@cache
def weights(count, edges):
    """w_d(u,v) of all pairs of nodes, 0 where there is no way."""
    graph = nx.Graph(list(zip(edges[: len(edges) // 2], edges[len(edges) // 2 :], strict=True)))
    found = torch.zeros(count, count, dtype=torch.double)
    for v, to in nx.all_pairs_shortest_path_length(graph):
        for u, hop in to.items():
            found[v, u] = WEIGHTS[hop] if hop < len(WEIGHTS) else 0.0
    return found


class Weighted(GraphModel):
    """h_v = Σ_u w_d(u,v) x_u: a model whose influence by hop is known; the answer is the sum of all columns."""

    def __init__(self, level):
        super().__init__(GraphSpec(nodes=2, outputs=1, level=level), 2, 1)
        self.features = nn.Identity()

    def forward(self, batch):
        rows = []
        for graph in batch.to_data_list():
            rows.append(weights(graph.num_nodes, tuple(graph.edge_index.flatten().tolist())))
        h = torch.block_diag(*rows) @ self.encode_nodes(batch)
        return self.pool(h, batch).sum(1, keepdim=True)


def task_of(graphs, level):
    torch.manual_seed(0)
    made = []
    for graph in graphs:
        data = from_networkx(nx.convert_node_labels_to_integers(graph))
        data.x = torch.randn(data.num_nodes, 2, dtype=torch.double)
        data.y = torch.zeros(1, 1, dtype=torch.double)
        made.append(data)
    spec = GraphSpec(nodes=2, outputs=1, level=level)
    task = Task("made", spec, made, {"validation": range(len(made))}, objective("regression"))
    model = Weighted(level).double()
    for data in made:  # what the model answers: without hidden hops there is no error
        data.y = model(Batch.from_data_list([data])).detach()
    return task, model


PIECES = nx.disjoint_union(nx.path_graph(3), nx.path_graph(2))
GRAPHS = (nx.grid_2d_graph(2, 3), nx.path_graph(6), nx.balanced_tree(2, 2), PIECES)


@pytest.mark.parametrize("level", ["graph", "node"])
def test_influence_and_range_of_a_known_model(level):
    task, model = task_of(GRAPHS, level)
    every = Sample(graphs=10, nodes=100)
    found = measure(model, task, None, every)
    total, by_ohms, expected, nodes = 0.0, 0.0, np.zeros(6), 0
    for graph in GRAPHS:
        for piece in map(graph.subgraph, nx.connected_components(graph)):
            ohms = nx.resistance_distance(piece)
            for v in piece:
                nodes += 1
                for u, k in nx.single_source_shortest_path_length(piece, v).items():
                    weight = 2 * abs(WEIGHTS[k]) if k < len(WEIGHTS) else 0.0  # two columns, each by itself
                    expected[k] += weight
                    total, by_ohms = total + weight, by_ohms + weight * ohms[v][u]
    assert found.nodes == nodes
    assert found.influence == pytest.approx(expected / nodes)
    assert found.range_hops == pytest.approx((expected * np.arange(6)).sum() / total)
    assert found.range_resistance == pytest.approx(by_ohms / total)
    assert found.range_resistance < found.range_hops  # grids have many ways


def test_a_sum_has_no_mixed_second_derivatives():
    task, model = task_of(GRAPHS, "graph")
    assert set(measure(model, task, None, SMALL).mixed) == {0.0}


@pytest.mark.parametrize("level", ["graph", "node"])
def test_hiding_a_hop_of_a_known_model(level):
    """The answer loses w_k Σ (x_u - mean) over the nodes u at hop k."""
    task, model = task_of(GRAPHS, level)
    nodes = [list(range(graph.num_nodes)) for graph in task.graphs]
    hiding = Hiding(model, task.graphs, nodes, level)
    assert hiding.applies()
    torch.testing.assert_close(hiding.answers(None), hiding.y())
    for hop in range(5):
        lost = []
        for graph in task.graphs:
            far = np.stack([hops_from(graph, v) for v in range(graph.num_nodes)]) == hop
            moved = torch.from_numpy(far).double() @ (graph.x - hiding.mean).sum(1, keepdim=True)
            lost.append((WEIGHTS[hop] if hop < 4 else 0.0) * (moved if level == "node" else moved.sum(0, keepdim=True)))
        torch.testing.assert_close(hiding.y() - hiding.answers(hop), torch.cat(lost))
    scores = {hop: score for what, hop, score in measure(model, task, None, Sample(nodes=100)).knock_out}
    assert scores[None] == pytest.approx(0, abs=1e-9)
    lower = [scores[hop] for hop in (0, 2, 3)]
    assert all(score is not None and score > 0.01 for score in lower)
    assert scores[1] == scores[4] == pytest.approx(0, abs=1e-9)


def test_a_set_that_is_hidden_is_the_empty_set():
    """Of one layer that sums weighted hops, with one way only: what is read at other places stays."""
    names = "house", "path"
    model = built("gred", "LAYERS = 1", "variant.encoder = 'weighted_sum'", level="node")
    graphs = [prepared(model, plain(name)) for name in names]
    for graph in graphs:
        graph.y = torch.zeros(graph.num_nodes, 1)
    whole = model(Batch.from_data_list(graphs))
    torch.testing.assert_close(answers_without_set(model, graphs, "node", None)[0], whole)
    assert not torch.allclose(answers_without_set(model, graphs, "node", 1)[0], whole)
    model.layers[0].encoder.weight.data[2] = 0.0  # a hop that is not read cannot be missed
    whole = model(Batch.from_data_list(graphs))
    torch.testing.assert_close(answers_without_set(model, graphs, "node", 2)[0], whole)
    assert not any(module._forward_hooks for module in model.modules())


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("level", ["graph", "node"])
def test_every_model_is_measured(name, level):
    graphs = []
    for one in ("house", "path", "two components"):
        data = plain(one)
        data.y = torch.zeros(data.num_nodes, 2) if level == "node" else torch.zeros(1, 2)
        graphs.append(data)
    spec = GraphSpec(nodes=(4,), outputs=2, level=level)
    task = Task("made", spec, graphs, {"validation": range(3)}, objective("regression"))
    model = built(name, level=level).train()
    found = measure(model, task, 3, SMALL)
    assert model.training
    assert all(parameter.requires_grad for parameter in model.parameters())
    assert found.influence[0] > 0
    assert len(found.influence) == len(found.pairs)
    assert math.isfinite(found.range_hops)
    assert bool(found.mixed) == (level == "graph")
    hidden = {what for what, _, _ in found.knock_out}
    token = name == "graphormer" and level == "graph"
    assert hidden == ({FEATURES} - ({FEATURES} if token else set())) | ({SETS} if name == "gred" else set())
    assert set(found.scored) == hidden
    nodes = sum(graph.num_nodes for graph in graphs)
    for what, (of_graphs, of_answers) in found.scored.items():
        assert of_graphs == 3
        assert of_answers == (3 if level == "graph" else nodes if what == SETS else found.nodes)
    assert found.notes == (["no hop can be hidden: the answer is not made from the states of the nodes"] * token)
    assert Measured.from_json(found.to_json(SMALL), SMALL) == found
    assert Measured.from_json(found.to_json(SMALL), Sample()) is None
    older = {key: value for key, value in json.loads(found.to_json(SMALL)).items() if key != "scored"}
    assert Measured.from_json(json.dumps(older), SMALL) == replace(found, scored={})  # it does not say of how much


@pytest.mark.parametrize("text", ["", "null", "[]", "{}", '{"format": 1}', "[" * 100_000, '{"format": 1, "sample": 2}'])
def test_what_is_no_record_is_measured_again(text):
    assert Measured.from_json(text, Sample()) is None


def test_nodes_are_those_that_the_task_asks_about():
    task, _ = task_of(GRAPHS, "node")
    graph = task.graphs[1]
    graph.y = torch.full((6,), IGNORED)
    graph.y[[2, 5]] = 1
    assert asked(graph, "node").tolist() == nodes_of(graph, 1, "node", Sample(nodes=5)) == [2, 5]
    assert len(nodes_of(graph, 1, "graph", Sample(nodes=5))) == 5
    graph.y = torch.full((6,), IGNORED)
    assert graphs_of(task, Sample()) == [0, 2, 3]


@pytest.mark.parametrize("most", [3, 5, 12])
@pytest.mark.parametrize("farthest", [0, 1, 4, 11, 12, 40, 500])
def test_hidden_hops_reach_from_the_node_to_the_farthest(farthest, most):
    hops = hops_of(farthest, most)
    assert len(hops) <= most
    assert hops == sorted(set(hops))
    assert (hops[0], hops[-1]) == (0, farthest)
    assert np.all(np.diff(np.diff(hops)) >= -1)  # ever fewer, but for rounding and the last one
