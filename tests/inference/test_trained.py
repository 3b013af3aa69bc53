import pytest
import torch
from helpers.own_files import EXAMPLES, ten_paths, write
from helpers.stored import answers, composed, model_for, store
from torch_geometric.data import Data

from gredkit.data.datasets.graph_folder import graph_folder
from gredkit.data.datasets.pattern_sbm import pattern_sbm
from gredkit.data.datasets.python_dataset import python_dataset
from gredkit.data.datasets.ring_transfer import ring_transfer
from gredkit.data.datasets.smiles_csv import smiles_csv
from gredkit.errors import UserError
from gredkit.inference.about import SavedModel
from gredkit.inference.saved import load_folder
from gredkit.inference.trained import TrainedModel

OWN = EXAMPLES / "own_graphs"


def trained_on(task, K=3, **parts):
    composition = composed(task.spec, **parts)
    return TrainedModel(model_for(task, composition), SavedModel.of(task, composition, K, "some"))


def test_classes_by_their_names_with_probabilities():
    task = graph_folder(OWN)
    trained = trained_on(task)
    frame = trained.predict(task.graphs)
    outputs = answers(trained.model, task)
    assert list(frame) == ["graph", "predicted", "p_path", "p_ring"]
    assert frame["graph"].tolist() == list(range(len(task.graphs)))
    assert torch.equal(torch.tensor(frame[["p_path", "p_ring"]].to_numpy()), outputs.softmax(1))
    assert frame["predicted"].tolist() == [("path", "ring")[i] for i in outputs.argmax(1)]


def test_labels_and_numbers_by_their_columns(tmp_path):
    rows = [f"g{i},{i % 2},{i % 3 % 2}" for i in range(10)]
    folder = write(ten_paths(tmp_path), {"graphs.csv": ["graph,y_a,y_b", *rows]})
    task = graph_folder(folder, task="labels")
    trained = trained_on(task)
    frame = trained.predict(task.graphs)
    assert list(frame) == ["graph", "p_y_a", "p_y_b"]
    assert torch.equal(torch.tensor(frame[["p_y_a", "p_y_b"]].to_numpy()), answers(trained.model, task).sigmoid())
    task = graph_folder(folder, task="regression")
    trained = trained_on(task)
    frame = trained.predict(task.graphs)
    assert list(frame) == ["graph", "y_a", "y_b"]
    assert torch.equal(torch.tensor(frame[["y_a", "y_b"]].to_numpy()), answers(trained.model, task))


def test_one_row_a_node():
    task = pattern_sbm(train=3, validation=1, test=1, patterns=2)
    trained = trained_on(task)
    frame = trained.predict(task.graphs)
    assert list(frame) == ["graph", "node", "predicted", "p_0", "p_1"]
    assert frame["graph"].tolist() == [i for i, graph in enumerate(task.graphs) for _ in range(graph.num_nodes)]
    assert frame["node"].tolist() == [node for graph in task.graphs for node in range(graph.num_nodes)]
    assert torch.equal(torch.tensor(frame[["p_0", "p_1"]].to_numpy()), answers(trained.model, task).softmax(1))


@pytest.mark.parametrize("positional", ["rwse", "lap_pe", "degree"])
def test_graphs_need_neither_hops_nor_positions_nor_targets(positional):
    task = smiles_csv(EXAMPLES / "solubility.csv", targets="logp")
    trained = trained_on(task, K=None, positional=positional)
    bare = [Data(x=graph.x, edge_index=graph.edge_index, edge_attr=graph.edge_attr) for graph in task.graphs]
    expected = answers(trained.model, task, K=None)
    assert torch.equal(trained.outputs(bare), expected)
    by_ones = trained.predict(iter(bare), batch_size=1)["logp"]
    assert torch.allclose(torch.tensor(by_ones.to_numpy()), expected[:, 0], atol=1e-5)
    assert set(bare[0].keys()) == {"x", "edge_index", "edge_attr"}  # they stay as they are


def test_many_graphs_are_taken_in_blocks(monkeypatch):
    task = ring_transfer(graphs=20)
    trained = trained_on(task)
    expected = trained.outputs(task.graphs, batch_size=4)
    monkeypatch.setattr("gredkit.inference.trained.BLOCK", 8)
    assert torch.equal(trained.outputs(task.graphs, batch_size=4), expected)


def test_what_training_makes_of_a_list_is_made_here_too(monkeypatch):
    monkeypatch.chdir(EXAMPLES)
    task = python_dataset("my_dataset:one_ring_or_two", {"largest": 6})
    trained = trained_on(task)
    bare = [Data(edge_index=graph.edge_index, num_nodes=graph.num_nodes) for graph in task.graphs]
    assert torch.equal(trained.outputs(bare), answers(trained.model, task))


# Graphs that do not fit

PAIR = torch.tensor([[0, 1], [1, 0]])


def pair(x=((0,), (1,)), edge_attr=((1.0,), (1.0,)), **other):
    made = {"x": x, "edge_attr": edge_attr, "edge_index": PAIR, **other}
    return Data(**{key: torch.as_tensor(value) for key, value in made.items() if value is not None})


MISTAKES = {
    "columns": (pair(x=[[0, 1], [1, 1]]), "x of graph 1 has 2 columns, but the model was trained on 1 (cat_colour)"),
    "category": (
        pair(x=[[0], [7]]),
        "column 0 (cat_colour) of x of graph 1 has category 7, but the model knows 0 to 1: leave the graph out",
    ),
    "below zero": (pair(x=[[-1], [0]]), "column 0 (cat_colour) of x of graph 1 has category -1"),
    "numbers": (pair(x=[[0.0], [1.0]]), "x of graph 1 holds torch.float32, but the model was trained on categories"),
    "no x": (pair(x=None, num_nodes=2), "graph 1 has no x: the model needs 1 columns there (cat_colour)"),
    "rows": (pair(x=[[0]], num_nodes=2), "x of graph 1 has 1 rows, not 2"),
    "no edge_attr": (pair(edge_attr=None), "graph 1 has no edge_attr: the model needs 1 columns there (x_length)"),
    "not finite": (
        pair(edge_attr=[[1.0], [float("nan")]]),
        "edge_attr of graph 1 contains NaN or infinity",
    ),
    "node that is not there": (
        pair(edge_index=[[0, 5], [1, 0]]),
        "edge_index of graph 1 names a node that does not exist",
    ),
    "no nodes": (pair(x=torch.empty(0, 1).long(), edge_index=torch.empty(2, 0).long()), "graph 1 has no nodes"),
    "no graph": ([1, 2], "graph 1 is list: give torch_geometric Data"),
}


@pytest.mark.parametrize(("graph", "sentence"), MISTAKES.values(), ids=MISTAKES)
def test_a_graph_that_does_not_fit_is_named(graph, sentence):
    trained = trained_on(graph_folder(OWN))
    with pytest.raises(UserError) as caught:
        trained.predict([pair(), graph])
    assert str(caught.value).startswith(sentence)
    assert "\n" not in str(caught.value)


def test_features_of_edges_are_needed_by_those_who_read_them():
    trained = trained_on(graph_folder(OWN), edge_features=None)
    assert len(trained.predict([pair(), pair(edge_attr=None)][1:])) == 1


def test_whole_numbers_are_numbers_where_numbers_are_read(tmp_path):
    nodes = [f"g{i},{node},{i}.5" for i in range(10) for node in "abc"]
    task = graph_folder(write(ten_paths(tmp_path), {"nodes.csv": ["graph,node,x_a", *nodes]}))
    trained = trained_on(task)
    whole, real = pair(x=[[1], [2]]), pair(x=[[1.0], [2.0]])
    assert torch.equal(trained.outputs([whole]), trained.outputs([real]))


def test_options_are_checked():
    trained = trained_on(graph_folder(OWN))
    for options, sentence in (
        ({"batch_size": 0}, "a batch has at least one graph, not 0"),
        ({"device": "abacus"}, "there is no device 'abacus'"),
    ):
        with pytest.raises(UserError, match=sentence):
            trained.predict([pair()], **options)
    with pytest.raises(UserError, match="there are no graphs to predict"):
        trained.predict([])


def test_a_stored_model_is_used_in_the_precision_it_was_trained_in(tmp_path):
    task = ring_transfer(graphs=20)
    store(tmp_path, task, "ring_transfer", precision="bfloat16")
    half = load_folder(tmp_path)
    store(tmp_path, task, "ring_transfer")
    single = load_folder(tmp_path)
    assert half.outputs(task.graphs).dtype == torch.float32
    assert not torch.equal(half.outputs(task.graphs), single.outputs(task.graphs))
