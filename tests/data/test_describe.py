import numpy as np
import pytest
import torch
from helpers.graphs import any_graphs, to_networkx
from hypothesis import given
from torch_geometric.data import Data

from gredkit import GraphSpec, add_hops
from gredkit.data.describe import _degrees, _is_disconnected, describe
from gredkit.data.objectives import objective
from gredkit.data.task import Task

TRIANGLE = torch.tensor([[0, 1, 2], [1, 2, 0]])
PATH = torch.tensor([[0, 1, 2], [1, 2, 3]])


def lines(graphs, spec, kind, K=None, **notes):
    task = Task("made up", spec, graphs, {"train": [0], "validation": [1], "test": []}, objective(kind), notes)
    return dict(describe(task, [add_hops(g, K) for g in graphs], [add_hops(g, None) for g in graphs]))


def test_every_line_of_a_small_dataset():
    graphs = [
        Data(x=torch.zeros(3, 1), edge_index=TRIANGLE, y=torch.tensor([0])),
        Data(x=torch.zeros(5, 1), edge_index=PATH, y=torch.tensor([1])),  # node 4 is alone
    ]
    said = lines(graphs, GraphSpec(nodes=1, outputs=2), "classification", K=1, folds="stratified, seed 0")
    assert said["graphs"] == "2 (train 1, validation 1, test 0)"
    assert said["nodes"] == "8; per graph: mean 4.0, median 4, 3 to 5"
    assert said["edges, undirected"] == "6; per graph: mean 3.0, median 3, 3 to 3"
    assert said["degree"] == "mean 1.5, median 2, 0 to 2"
    assert said["diameter"] == "mean 2.0, median 2, 1 to 3"
    assert said["disconnected graphs"] == "1"
    assert said["node features"] == "1 dense columns"
    assert said["edge features"] == "none"
    assert said["metric"] == "accuracy, larger is better; one prediction per graph"
    assert said["classes"] == "2: 50.0%, 50.0%"
    assert said["hop rows (node, hop)"] == "15; per node: 1.9"
    # Triangle: 3 single nodes and 3 pairs. Path and lone node: 5 single nodes, {0, 2} and {1, 3}.
    assert said["distinct hop sets"].startswith("13; 1.15 rows per set; 1.4 nodes per set")
    assert said["folds"] == "stratified, seed 0"


def test_targets_and_labels():
    def with_y(*values):
        return [Data(x=torch.zeros(2, 1).long(), edge_index=PATH[:, :0], y=torch.tensor([v])) for v in values]

    said = lines(with_y([1.0], [4.0]), GraphSpec(nodes=(1,), outputs=1, edges=(4, 2)), "regression")
    assert said["targets"] == "2.500 ± 2.121"
    assert said["edge features"] == "2 categorical, vocabulary 4, 2"
    said = lines(with_y([1.0, 0.0], [1.0, float("nan")]), GraphSpec(nodes=(1,), outputs=2), "labels")
    assert said["labels"] == "100.0%, 0.0% positive"


@given(any_graphs())
def test_degrees_and_pieces_are_those_of_networkx(data):
    import networkx as nx

    graph, ours = to_networkx(data), add_hops(data, None)
    graph.remove_edges_from(list(nx.selfloop_edges(graph)))
    np.testing.assert_array_equal(_degrees(ours), [degree for _, degree in sorted(graph.degree)])
    assert _is_disconnected(ours) == (len(graph) > 0 and not nx.is_connected(graph))


@pytest.mark.parametrize("K", [0, 2, None])
def test_an_empty_split_or_graph_does_not_hurt(K):
    graphs = [Data(x=torch.zeros(1, 1), edge_index=PATH[:, :0], y=torch.tensor([0]))] * 2
    assert lines(graphs, GraphSpec(nodes=1, outputs=1), "classification", K)["diameter"].startswith("mean 0.0")
