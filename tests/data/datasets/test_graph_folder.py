from collections import Counter

import pandas as pd
import pytest
import torch
from helpers.graphs import any_graphs
from helpers.own_files import EXAMPLES, assert_learns, assert_same_graphs, ten_paths, to_parquet, write
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gredkit.data.datasets.graph_folder import graph_folder
from gredkit.data.objectives import IGNORED
from gredkit.data.task import GraphSpec

OWN = EXAMPLES / "own_graphs"


def test_the_example_is_read():
    task = graph_folder(OWN)
    assert task.name == "own_graphs"
    assert task.spec == GraphSpec(nodes=(2,), edges=1, outputs=2)
    assert task.notes["class_names"] == ("path", "ring")
    assert task.notes["node_columns"] == ("cat_colour",)
    ring, path = task.graphs[0], task.graphs[6]
    assert ring.y.tolist() == [1]
    assert path.y.tolist() == [0]
    assert ring.x.tolist() == [[0], [1], [0]]
    edges = zip(map(tuple, ring.edge_index.T.tolist()), ring.edge_attr.flatten().tolist(), strict=True)
    assert sorted(edges) == [((0, 1), 1.0), ((0, 2), 1.5), ((1, 0), 1.0), ((1, 2), 1.0), ((2, 0), 1.5), ((2, 1), 1.0)]
    assert {split: [int(g.num_nodes) for g in task.part(split)] for split in task.splits} == {
        "train": [3, 4, 7, 8, 3, 4, 7, 8],
        "validation": [6, 6],
        "test": [5, 5],
    }
    assert_learns(task)


def test_parquet_is_the_same(tmp_path):
    by_csv, by_parquet = graph_folder(OWN), graph_folder(to_parquet(OWN, tmp_path / "own_graphs"))
    assert (by_parquet.name, by_parquet.spec) == (by_csv.name, by_csv.spec)
    assert (by_parquet.splits, by_parquet.notes) == (by_csv.splits, by_csv.notes)
    assert_same_graphs(by_parquet.graphs, by_csv.graphs)


def test_parquet_without_any_edge(tmp_path):
    frame = pd.DataFrame({"graph": [1, 2, 3], "y": [0.5, 1.5, 2.0], "edges": [[], None, []]})
    frame["nodes"] = [[{"node": 1, "x_a": 1.0}], [{"node": 1, "x_a": 2.0}, {"node": 2, "x_a": 0.0}], [{"node": 7}]]
    frame["nodes"] = [[{"x_a": 0.0} | node for node in nodes] for nodes in frame["nodes"]]
    frame.to_parquet(tmp_path / "graphs.parquet")
    task = graph_folder(tmp_path, task="regression")
    assert [graph.num_edges for graph in task.graphs] == [0, 0, 0]
    assert [graph.x.tolist() for graph in task.graphs] == [[[1.0]], [[2.0], [0.0]], [[0.0]]]
    assert [graph.y.tolist() for graph in task.graphs] == [[[0.5]], [[1.5]], [[2.0]]]


# What is drawn, written and read must be what was drawn.

names = st.text(list("ab 07,;'\"\n-é"), min_size=1, max_size=4).filter(lambda name: name == name.strip())
values = {
    "cat_a": st.integers(0, 9),
    "cat_b": st.integers(0, 2),
    "x_a": st.floats(-9, 9, width=32),
    "x_b": st.floats(width=32, allow_nan=False, allow_infinity=False),
}


@st.composite
def folders(draw):
    """Rows of three tables in any order of graphs, and the graphs that they stand for."""
    graphs = draw(st.lists(any_graphs().filter(lambda graph: graph.num_nodes > 0), min_size=3, max_size=5))
    ids = draw(st.lists(names, min_size=len(graphs), max_size=len(graphs), unique=True))
    kinds = st.sampled_from([[], ["cat_a"], ["cat_a", "cat_b"], ["x_a"], ["x_b", "x_a"]])
    of_nodes, of_edges = draw(kinds), draw(kinds)

    def row(columns):
        return [draw(values[column]) for column in columns]

    nodes, edges, expected = [], [], []
    for graph, data in zip(ids, graphs, strict=True):
        called = draw(st.lists(names, min_size=data.num_nodes, max_size=data.num_nodes, unique=True))
        x, ends = [row(of_nodes) for _ in called], data.edge_index.T.tolist()
        edge_attr = [row(of_edges) for _ in ends]
        nodes += [[graph, node, *cells] for node, cells in zip(called, x, strict=True)]
        edges += [[graph, called[u], called[v], *cells] for (u, v), cells in zip(ends, edge_attr, strict=True)]
        expected.append((x, ends, edge_attr))
    # Rows of several graphs may take turns, those of one keep their order.
    waiting = {graph: iter([row for row in nodes if row[0] == graph]) for graph in ids}
    nodes = [next(waiting[graph]) for graph in draw(st.permutations([row[0] for row in nodes]))]
    y = draw(st.lists(values["x_a"], min_size=len(ids), max_size=len(ids)))
    tables = {
        "nodes": pd.DataFrame(nodes, columns=["graph", "node", *of_nodes]),
        "edges": pd.DataFrame(edges, columns=["graph", "source", "target", *of_edges]),
        "graphs": pd.DataFrame({"graph": ids, "y": y}),
    }
    return tables, expected, of_nodes, of_edges


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(folders())
def test_what_is_written_is_what_is_read(tmp_path_factory, drawn):
    tables, expected, of_nodes, of_edges = drawn
    folder = tmp_path_factory.mktemp("drawn")
    for name, table in tables.items():
        table.to_csv(folder / f"{name}.csv", index=False)
    task = graph_folder(folder, task="regression")
    assert task.spec.nodes == (_columns([x for x, _, _ in expected], of_nodes) or (1,))
    assert task.spec.edges == _columns([edge_attr for _, _, edge_attr in expected], of_edges)
    assert [graph.y.tolist() for graph in task.graphs] == [[[y]] for y in tables["graphs"]["y"]]
    for graph, (x, ends, edge_attr) in zip(task.graphs, expected, strict=True):
        assert graph.x.tolist() == (x if of_nodes else [[0]] * len(x))
        given = [(tuple(edge), tuple(cells)) for edge, cells in zip(ends, edge_attr, strict=True)]
        there = {edge for edge, _ in given}
        given += [((v, u), cells) for (u, v), cells in given if (v, u) not in there]
        read = graph.edge_attr.tolist() if of_edges else [[]] * graph.num_edges
        found = zip(map(tuple, graph.edge_index.T.tolist()), map(tuple, read), strict=True)
        assert Counter(found) == Counter(given)


def _columns(parts, columns):
    if not columns:
        return None
    if columns[0].startswith("x_"):
        return len(columns)
    rows = [row for part in parts for row in part]
    return tuple(max((row[c] for row in rows), default=0) + 1 for c in range(len(columns)))


# Features


def with_nodes(folder, header, cell):
    """The ten paths with other features of the nodes: `cell(graph, node)` gives their cells."""
    rows = [f"g{i},{node},{cell(i, v)}" for i in range(10) for v, node in enumerate("abc")]
    return write(ten_paths(folder), {"nodes.csv": [f"graph,node,{header}", *rows]})


def test_categories_beside_numbers_become_columns(tmp_path):
    folder = with_nodes(tmp_path, "cat_a,x_b,cat_c", lambda i, v: f"{v},{i}.25,{i % 2}")
    task = graph_folder(folder)
    assert task.spec.nodes == 1 + 3 + 2
    assert task.notes["node_columns"] == ("x_b", "cat_a=0", "cat_a=1", "cat_a=2", "cat_c=0", "cat_c=1")
    assert task.graphs[3].x.tolist() == [[3.25, 1, 0, 0, 0, 1], [3.25, 0, 1, 0, 0, 1], [3.25, 0, 0, 1, 0, 1]]
    assert_learns(task)


def test_nodes_without_features_carry_one_symbol(tmp_path):
    folder = with_nodes(tmp_path, "comment", lambda i, v: "pretty")
    task = graph_folder(folder)
    assert task.spec.nodes == (1,)
    assert task.graphs[0].x.tolist() == [[0], [0], [0]]
    assert task.notes["ignored_columns"] == ("nodes: comment",)
    assert_learns(task)


def test_graphs_without_edges(tmp_path):
    folder = write(ten_paths(tmp_path), {"edges.csv": ["graph,source,target,cat_a"]})
    task = graph_folder(folder)
    assert task.spec.edges == (1,)
    assert task.graphs[0].edge_index.shape == (2, 0)
    assert task.graphs[0].edge_attr.shape == (0, 1)


def test_an_edge_may_be_given_both_ways_with_features_of_its_own(tmp_path):
    folder = ten_paths(tmp_path)
    with (folder / "edges.csv").open("a") as file:
        file.write("g0,b,a,9\ng0,a,b,8\ng0,c,c,7\n")
    (first, *_) = graph_folder(folder).graphs
    edges = zip(map(tuple, first.edge_index.T.tolist()), first.edge_attr.flatten().tolist(), strict=True)
    assert sorted(edges) == [((0, 1), 0.5), ((0, 1), 8), ((1, 0), 9), ((1, 2), 0.5), ((2, 1), 0.5), ((2, 2), 7)]


# Targets


def with_targets(folder, header, cell):
    return write(ten_paths(folder), {"graphs.csv": [f"graph,{header}", *[f"g{i},{cell(i)}" for i in range(10)]]})


@pytest.mark.parametrize(
    ("labels", "classes", "numbers"),
    [
        (("b", "a", "c"), ("a", "b", "c"), [1, 0, 2]),
        (("10", "9", "-1"), (-1, 9, 10), [2, 1, 0]),  # as numbers, not as words
        (("2.0", "1.0", "2"), (1, 2), [1, 0, 1]),
        (("1", "x", "0"), ("0", "1", "x"), [1, 2, 0]),
        ((str(2**53), str(2**53 + 1), "0"), ("0", str(2**53), str(2**53 + 1)), [1, 2, 0]),  # no float tells them apart
        (("True", "False", "True"), ("False", "True"), [1, 0, 1]),
    ],
)
def test_classes_are_numbered_in_sorted_order(tmp_path, labels, classes, numbers):
    task = graph_folder(with_targets(tmp_path, "y", lambda i: labels[i % 3]))
    assert task.notes["class_names"] == classes
    assert task.spec.outputs == len(classes)
    assert [graph.y.tolist() for graph in task.graphs[:3]] == [[number] for number in numbers]
    assert task.graphs[0].y.dtype == torch.long


def test_several_numbers_to_predict(tmp_path):
    task = graph_folder(with_targets(tmp_path, "y_a,y_b", lambda i: f"{i}.5,-{i}"), task="regression")
    assert task.spec.outputs == 2
    assert task.graphs[4].y.tolist() == [[4.5, -4.0]]
    assert task.objective.metric.name == "mae"
    assert_learns(task)


def test_labels_may_be_unknown(tmp_path):
    task = graph_folder(with_targets(tmp_path, "y_a,y_b", lambda i: f"{i % 2},{'' if i == 4 else 1}"), task="labels")
    assert task.spec.outputs == 2
    assert task.graphs[4].y.isnan().tolist() == [[False, True]]
    assert task.graphs[5].y.tolist() == [[1, 1]]
    assert_learns(task)


def test_the_metric_is_the_usual_one_of_the_task():
    assert graph_folder(OWN).objective.metric.name == "accuracy"
    assert graph_folder(OWN, task="balanced_classification").objective.metric.name == "class_mean_accuracy"


# Splits


def test_without_a_split_the_seed_draws_one(tmp_path):
    folder = with_targets(tmp_path, "y", lambda i: i % 2)
    first, again, other = (graph_folder(folder, seed=seed) for seed in (1, 1, 2))
    assert first.splits == again.splits != other.splits
    assert {split: len(part) for split, part in first.splits.items()} == {"train": 8, "validation": 1, "test": 1}
    assert first.notes["split"] == "drawn by seed 1"
    assert graph_folder(OWN).notes["split"] == "given"


# One answer a node


def test_nodes_with_targets_of_their_own(tmp_path):
    task = graph_folder(with_nodes(tmp_path, "y", lambda i, v: "xyz"[v]), level="node")
    assert task.spec == GraphSpec(nodes=(1,), edges=1, outputs=3, level="node")
    assert [graph.y.tolist() for graph in task.graphs] == [[0, 1, 2]] * 10
    assert task.splits["test"] == [8, 9]
    assert_learns(task)


def test_targets_of_nodes_follow_their_rows(tmp_path):
    rows = [f"g{i},{node},{10 * i + v},{10 * i + v}" for v, node in enumerate("cab") for i in range(10)]
    folder = write(ten_paths(tmp_path), {"nodes.csv": ["graph,node,x_a,y", *rows]})
    task = graph_folder(folder, level="node", task="regression")
    assert [graph.y.flatten().tolist() for graph in task.graphs] == [
        [10 * i, 10 * i + 1, 10 * i + 2] for i in range(10)
    ]
    assert all(torch.equal(graph.x, graph.y) for graph in task.graphs)
    by_class = graph_folder(folder, level="node")
    assert [graph.y.tolist() for graph in by_class.graphs] == [[3 * i, 3 * i + 1, 3 * i + 2] for i in range(10)]


def test_numbers_for_nodes(tmp_path):
    task = graph_folder(with_nodes(tmp_path, "y", lambda i, v: f"{i}.{v}"), level="node", task="regression")
    assert task.graphs[2].y.flatten().tolist() == pytest.approx([2.0, 2.1, 2.2])
    assert_learns(task)


def test_a_split_of_nodes_asks_each_node_in_one_split_at_most(tmp_path):
    split = ("train", "validation", "test", "")

    def cell(i, v):  # a node that is in no split needs no target
        name = split[(i + v) % 4]
        return f"{v if name else ''},{name}"

    folder = with_nodes(tmp_path, "y,split", cell)
    task = graph_folder(write(folder, {"graphs.csv": ["graph", *[f"g{i}" for i in range(10)]]}), level="node")
    assert task.notes["split"] == "given for nodes"
    for number, name in enumerate(split[:3]):
        asked = [[v if (i + v) % 4 == number else IGNORED for v in range(3)] for i in range(10)]
        assert [graph.y.tolist() for graph in task.part(name)] == [y for y in asked if y != [IGNORED] * 3]
    assert_learns(task)


def test_the_nodes_of_a_single_graph_are_split(tmp_path):
    nodes = [f"only,{v},{v % 2}" for v in range(20)]
    edges = [f"only,{v},{v + 1}" for v in range(19)]
    tables = {"graphs.csv": ["graph", "only"], "nodes.csv": ["graph,node,y", *nodes]}
    task = graph_folder(write(tmp_path, tables | {"edges.csv": ["graph,source,target", *edges]}), level="node")
    assert task.notes["split"] == "nodes drawn by seed 0"
    (train,), (validation,), (test,) = (task.part(split) for split in ("train", "validation", "test"))
    asked = torch.stack([graph.y != IGNORED for graph in (train, validation, test)])
    assert asked.sum(1).tolist() == [16, 2, 2]
    assert asked.sum(0).tolist() == [1] * 20
    assert sorted(test.y[asked[2]].tolist()) == [0, 1]
    assert_learns(task)
