"""Every mistake in a folder of graphs ends in a sentence with the file and the line, or is left out."""

import logging
import re

import pandas as pd
import pytest
from helpers.own_files import assert_same_graphs, change, ten_paths, to_parquet, write

from gredkit.data.datasets.graph_folder import graph_folder
from gredkit.errors import UserError

# What stands in a line, and what is said about it; all of them are mistakes of graph g2.
LINES = {
    "edge to nowhere": ("edges.csv", 7, "g2,b,z,1", "target 'z' is not a node of graph 'g2': add it to the nodes"),
    "edge from nowhere": ("edges.csv", 6, "g2,z,b,1", "source 'z' is not a node of graph 'g2': add it to the nodes"),
    "edge without an end": ("edges.csv", 6, "g2,a,,1", "'target' is empty: every row needs one"),
    "edge feature": ("edges.csv", 6, "g2,a,b,long", "'long' in 'x_length' is not a finite number: write a number"),
    "infinite feature": ("edges.csv", 6, "g2,a,b,inf", "'inf' in 'x_length' is not a finite number"),
    "beyond float32": ("edges.csv", 6, "g2,a,b,1e39", "'1e39' in 'x_length' is not a finite number"),
    "no feature": ("edges.csv", 6, "g2,a,b", "'x_length' is empty: write a number"),
    "cells too many": ("edges.csv", 6, "g2,a,b,1,2", "5 cells, but the header has 4: put a cell that has a comma"),
    "node without a name": ("nodes.csv", 9, "g2,,1", "'node' is empty: every row needs one"),
    "node twice": ("nodes.csv", 9, "g2,a,1", "node 'a' appears twice: name each only once"),
    "word as a category": ("nodes.csv", 10, "g2,c,red", "'red' in 'cat_kind' is not a whole number from 0 to 999999"),
    "category below 0": ("nodes.csv", 10, "g2,c,-1", "'-1' in 'cat_kind' is not a whole number"),
    "number as a category": ("nodes.csv", 10, "g2,c,0.5", "'0.5' in 'cat_kind' is not a whole number"),
    "huge category": ("nodes.csv", 10, "g2,c,1000000", "'1000000' in 'cat_kind' is not a whole number"),
    "no category": ("nodes.csv", 10, "g2,c,", "'cat_kind' is empty: number the categories 0, 1, 2, …, or call"),
    "NaN as a target": ("graphs.csv", 4, "g2,NaN,train", "'y' is empty: write a whole number or a word"),
    "number as a class": ("graphs.csv", 4, "g2,0.7,train", "'0.7' in 'y' is not a class: write a whole number"),
    "unknown split": ("graphs.csv", 4, "g2,no,val", "'val' in 'split' is not a split: write train, validation, test"),
    "no split": ("graphs.csv", 4, "g2,no", "'split' is empty: write train, validation, test"),
    "graph twice": ("graphs.csv", 4, "g2,no,train\ng2,no,train", "graph 'g2' appears twice: name each only once"),
}  # fmt: skip


@pytest.fixture
def folder(tmp_path):
    return ten_paths(tmp_path / "paths")


@pytest.fixture
def without_g2(folder):
    """What is left of the ten paths without the third one."""
    whole = graph_folder(folder)
    left = [graph for i, graph in enumerate(whole.graphs) if i != 2]
    splits = {split: [i - (i > 2) for i in members if i != 2] for split, members in whole.splits.items()}
    return left, splits


def assert_left_out(folder, without_g2, place, sentence, caplog, **options):
    """One graph is left out, and it is said why, in the notes and in the log."""
    with caplog.at_level(logging.WARNING):
        task = graph_folder(folder, on_error="skip", **options)
    left, splits = without_g2
    assert_same_graphs(task.graphs, left)
    assert task.splits == splits
    assert task.notes["left_out"] == 1
    (reason,) = task.notes["left_out_because"]
    assert reason.startswith(f"{place}: {sentence}")
    assert [record.getMessage() for record in caplog.records] == [
        f"paths: left out 1 of 10 graphs; the first reason: {reason}"
    ]


@pytest.mark.parametrize(("file", "line", "text", "sentence"), LINES.values(), ids=LINES)
def test_a_wrong_line_is_named_or_left_out(folder, without_g2, caplog, file, line, text, sentence):
    change(folder / file, line, text)
    place = f"{folder / file}, line {line + text.count(chr(10))}"
    with pytest.raises(UserError) as caught:
        graph_folder(folder)
    assert str(caught.value).startswith(f"{place}: {sentence}")
    assert str(caught.value).endswith(" (use on_error='skip' to leave it out)")
    assert "\n" not in str(caught.value)
    assert_left_out(folder, without_g2, place, sentence, caplog)


def test_a_graph_without_nodes_is_named_or_left_out(folder, without_g2, caplog):
    for _ in range(3):
        change(folder / "nodes.csv", 8, None)
    for _ in range(2):
        change(folder / "edges.csv", 6, None)
    sentence = "graph 'g2' has no nodes: add some, or remove the row"
    with pytest.raises(UserError, match=re.escape(f"graphs.csv, line 4: {sentence}")):
        graph_folder(folder)
    assert_left_out(folder, without_g2, folder / "graphs.csv, line 4", sentence, caplog)


@pytest.mark.parametrize(("file", "first"), [("nodes.csv", 8), ("edges.csv", 6)])
def test_rows_of_an_unknown_graph_are_named_or_left_out(folder, without_g2, caplog, file, first):
    change(folder / "graphs.csv", 4, None)
    if file == "edges.csv":
        for _ in range(3):
            change(folder / "nodes.csv", 8, None)
    sentence = "graph 'g2' has no row among the graphs: add one"
    with pytest.raises(UserError, match=re.escape(f"{file}, line {first}: {sentence}")):
        graph_folder(folder)
    assert_left_out(folder, without_g2, folder / f"{file}, line {first}", sentence, caplog)


def test_lines_are_counted_past_blank_ones_and_breaks_in_cells(folder):
    change(folder / "nodes.csv", 3, '\n"g0","b",1')
    change(folder / "nodes.csv", 11, "g2,c,red")
    with pytest.raises(UserError, match=r"nodes.csv, line 11: 'red' in 'cat_kind'"):
        graph_folder(folder)
    change(folder / "nodes.csv", 1, 'graph,node,"cat_kind","a\ncomment"')
    with pytest.raises(UserError, match=r"nodes.csv, line 12: 'red' in 'cat_kind'"):
        graph_folder(folder)


def test_only_the_first_reasons_are_told_but_all_graphs_counted(folder):
    for i in range(1, 8):
        change(folder / "nodes.csv", 3 * i + 2, f"g{i},a,red")
        change(folder / "nodes.csv", 3 * i + 3, f"g{i},b,red")
    change(folder / "graphs.csv", 8, "g6,no,val")
    change(folder / "graphs.csv", 2, "g0,yes,validation")
    change(folder / "graphs.csv", 10, "g8,no,train")
    with (folder / "graphs.csv").open("a") as file:
        file.write("ga,no,test\ngb,no,validation\n")
    with (folder / "nodes.csv").open("a") as file:
        file.write("ga,a,0\ngb,a,0\n,a,0\n")
    task = graph_folder(folder, on_error="skip")
    assert len(task.graphs) == 5
    assert task.notes["left_out"] == 8  # seven graphs, and a row that belongs to none
    lines = [reason.partition(": ")[0].rpartition(" ")[2] for reason in task.notes["left_out_because"]]
    assert lines == ["34", "5", "8", "11", "14"]


# What leaves nothing to use is a mistake in any case.

COLUMNS = {
    "graphs.csv": ("id,y,split", "there is no column 'graph': add it, or rename one of these: id, y, split"),
    "nodes.csv": ("graph,name,cat_kind", "there is no column 'node': add it, or rename one of these: graph, name, cat"),
    "edges.csv": ("graph,source,to,x_length", "there is no column 'target': add it, or rename one of these: graph,"),
}


@pytest.mark.parametrize("on_error", ["raise", "skip"])
@pytest.mark.parametrize("file", COLUMNS)
def test_a_missing_column_is_named(folder, file, on_error):
    header, sentence = COLUMNS[file]
    change(folder / file, 1, header)
    with pytest.raises(UserError, match=re.escape(f"{file}, line 1: {sentence}")):
        graph_folder(folder, on_error=on_error)


def test_cells_are_separated_by_commas(folder):
    (folder / "edges.csv").write_text((folder / "edges.csv").read_text().replace(",", ";"))
    with pytest.raises(
        UserError, match=r"edges.csv, line 1: there is only one column, 'graph;.*': separate the cells by comm"
    ):
        graph_folder(folder)


@pytest.mark.parametrize("on_error", ["raise", "skip"])
def test_missing_targets_are_named(folder, on_error):
    change(folder / "graphs.csv", 1, "graph,label,split")
    with pytest.raises(UserError, match=r"graphs.csv, line 1: there is no column 'y': .*: graph, label, split"):
        graph_folder(folder, on_error=on_error)
    with pytest.raises(UserError, match=r"nodes.csv, line 1: there is no column 'y'"):
        graph_folder(folder, level="node", on_error=on_error)


@pytest.mark.parametrize("file", COLUMNS)
def test_a_missing_file_is_named(folder, file):
    (folder / file).unlink()
    with pytest.raises(UserError, match=f"there is no {file} in .*: a folder of graphs holds graphs.parquet, or nodes"):
        graph_folder(folder, on_error="skip")


def test_the_folder_must_be_there(folder):
    with pytest.raises(
        UserError, match=r"which folder of graphs\? set datasets.graph_folder.path; a folder of graphs holds"
    ):
        graph_folder()
    for path in (folder / "nothing", folder / "nodes.csv"):
        with pytest.raises(UserError, match=f"there is no folder '{path}' in .*: a folder of graphs holds"):
            graph_folder(path)


def test_csv_beside_parquet_is_a_mistake(folder, tmp_path):
    to_parquet(folder, tmp_path / "other")
    (tmp_path / "other" / "graphs.parquet").rename(folder / "graphs.parquet")
    with pytest.raises(UserError, match=r"holds both graphs.parquet and CSV files: keep only one of the two"):
        graph_folder(folder)


def test_when_nothing_is_left_it_is_said_why(folder):
    with pytest.raises(
        UserError, match=r"paths: nothing is left of 10 of 10 graphs; the first reason: .*, line 2: 'no'"
    ):
        graph_folder(folder, task="regression", on_error="skip")
    write(folder, {"graphs.csv": ["graph,y"], "nodes.csv": ["graph,node"], "edges.csv": ["graph,source,target"]})
    with pytest.raises(UserError, match="paths: there are no graphs: add some"):
        graph_folder(folder)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"level": "edge"}, "level is one of graph, node, not 'edge'"),
        ({"on_error": "ignore"}, "on_error is one of raise, skip, not 'ignore'"),
        ({"task": "guessing"}, "task is one of .*, not 'guessing'"),
    ],
)
def test_options_are_checked(folder, options, sentence):
    with pytest.raises(UserError, match=sentence):
        graph_folder(folder, **options)


def test_targets_must_fit_the_task(folder):
    rows = [f"g{i},{i % 2},2" for i in range(10)]
    write(folder, {"graphs.csv": ["graph,y_a,y_b", *rows]})
    with pytest.raises(UserError, match=r"graphs.csv: classification reads one target column, not y_a, y_b: keep one"):
        graph_folder(folder)
    with pytest.raises(UserError, match=r"graphs.csv, line 2: '2' in 'y_b' is neither 0 nor 1: write 0 or 1"):
        graph_folder(folder, task="labels")
    write(folder, {"graphs.csv": ["graph,y", *[f"g{i},same" for i in range(10)]]})
    with pytest.raises(UserError, match="'y' holds 1 class only, same: training needs at least two"):
        graph_folder(folder)


def test_too_many_categories_beside_numbers(folder):
    change(folder / "nodes.csv", 1, "graph,node,cat_kind,x_a")
    lines = (folder / "nodes.csv").read_text().splitlines()
    write(folder, {"nodes.csv": [lines[0], *[f"{line},1" for line in lines[1:]]]})
    change(folder / "nodes.csv", 4, "g0,c,5000,1")
    with pytest.raises(UserError, match="cat_kind are used together with numbers and would become 5001 columns"):
        graph_folder(folder)


def test_a_split_stands_in_one_file(folder):
    lines = (folder / "nodes.csv").read_text().splitlines()
    write(folder, {"nodes.csv": ["graph,node,y,split", *[f"{line},train" for line in lines[1:]]]})
    with pytest.raises(UserError, match=r"nodes.csv: 'split' is also a column of the graphs: remove one"):
        graph_folder(folder, level="node")
    graphs = ["graph", *[f"g{i}" for i in range(10)]]
    write(folder, {"graphs.csv": graphs})
    with pytest.raises(UserError, match="no node is in the split 'validation'"):
        graph_folder(folder, level="node")
    change(folder / "nodes.csv", 5, "g1,a,1,val")
    with pytest.raises(UserError, match=r"nodes.csv, line 5: 'val' in 'split' is not a split"):
        graph_folder(folder, level="node")
    change(folder / "nodes.csv", 5, "g1,a,,train")
    with pytest.raises(UserError, match=r"nodes.csv, line 5: 'y' is empty"):
        graph_folder(folder, level="node")


# Parquet


def test_mistakes_in_parquet_are_named_by_row(folder, without_g2, caplog, tmp_path):
    change(folder / "edges.csv", 7, "g2,b,z,1")
    made = to_parquet(folder, tmp_path / "parquet" / "paths")
    place, sentence = f"{made / 'graphs.parquet'} (edges), row 3", "target 'z' is not a node of graph 'g2'"
    with pytest.raises(UserError) as caught:
        graph_folder(made)
    assert str(caught.value).startswith(f"{place}: {sentence}")
    assert_left_out(made, without_g2, place, sentence, caplog)


NODE, EDGE = [{"node": 0}], [{"source": 0, "target": 0}]


@pytest.mark.parametrize(
    ("columns", "sentence"),
    [
        ({"graph": [1], "y": [1], "nodes": [NODE]}, "there is no column 'edges': add it, with a list of structs"),
        ({"y": [1], "nodes": [NODE], "edges": [EDGE]}, "there is no column 'graph': add it, or rename one of these: y"),
        ({"graph": [1], "nodes": [[1]], "edges": [EDGE]}, "the column 'nodes' is list<element: int64>: make it a list"),
        ({"graph": [1], "nodes": [3], "edges": [EDGE]}, "the column 'nodes' is int64: make it a list of structs"),
        (
            {"graph": [1], "y": [[1, 2]], "nodes": [NODE], "edges": [EDGE]},
            "the column 'y' is list<element: int64>: make",
        ),
        ({"graph": [1], "nodes": [[{"id": 0}]], "edges": [EDGE]}, "(nodes): there is no column 'node': add it"),
        ({"graph": [1], "y": [1], "nodes": [[]], "edges": [None]}, "row 1: graph '1' has no nodes: add some"),
    ],
)
def test_a_parquet_file_of_another_form_is_a_mistake(tmp_path, columns, sentence):
    pd.DataFrame(columns).to_parquet(tmp_path / "graphs.parquet")
    with pytest.raises(UserError) as caught:
        graph_folder(tmp_path)
    assert sentence in str(caught.value)


def test_a_broken_parquet_file_is_a_mistake(tmp_path):
    (tmp_path / "graphs.parquet").write_text("graph,y\n")
    with pytest.raises(UserError, match=r"cannot read .*graphs.parquet: "):
        graph_folder(tmp_path)
