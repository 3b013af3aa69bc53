from pathlib import Path

import pytest
import torch
from helpers.own_files import EXAMPLES, assert_same_graphs, change, ten_paths, to_parquet, write
from rdkit import RDConfig

from gredkit.data.datasets.graph_folder import graph_folder
from gredkit.data.datasets.molecules import molecules
from gredkit.data.datasets.smiles_csv import smiles_csv
from gredkit.data.own.tables import Problems
from gredkit.data.unlabelled import from_folder, from_smiles
from gredkit.errors import UserError

OWN = EXAMPLES / "own_graphs"
FILE = EXAMPLES / "solubility.csv"


def with_nodes(folder, header, cell):
    rows = [f"g{i},{node},{cell(i, v)}" for i in range(10) for v, node in enumerate("abc")]
    return write(ten_paths(folder), {"nodes.csv": [f"graph,node,{header}", *rows]})


def read(folder, task, with_edges=True, on_error="raise"):
    return from_folder(folder, task.reading, "graph_folder", with_edges, Problems(on_error, "--on-error skip"))


def without_targets(graphs):
    for graph in graphs:
        del graph.y
    return list(graphs)


TABLES = {
    "categories": ("cat_a,cat_b", lambda i, v: f"{v},{i % 2}"),
    "numbers": ("x_a,x_b", lambda i, v: f"{v}.5,{i}"),
    "both": ("cat_a,x_b,cat_c", lambda i, v: f"{v},{i}.25,{i % 2}"),
    "neither": ("comment", lambda i, v: "pretty"),
}


@pytest.mark.parametrize(("header", "cell"), TABLES.values(), ids=TABLES)
def test_a_folder_is_encoded_as_in_training(tmp_path, header, cell):
    task = graph_folder(with_nodes(tmp_path, header, cell))
    new = read(tmp_path, task)
    assert new.names == [f"g{i}" for i in range(10)]
    assert_same_graphs(new.graphs, without_targets(task.graphs))


@pytest.mark.parametrize(("header", "cell"), TABLES.values(), ids=TABLES)
def test_so_is_a_part_of_it_without_the_largest_categories(tmp_path, header, cell):
    """The vocabulary is that of training, whatever the new tables hold."""
    task = graph_folder(with_nodes(tmp_path / "all", header, cell))
    folder = tmp_path / "part"
    rows = [f"g{i},a,{cell(i, 0)}" for i in (4, 0)]
    write(folder, {"nodes.csv": [f"graph,node,{header}", *rows], "edges.csv": ["graph,source,target,x_length"]})
    new = read(folder, task)
    assert new.names == ["g4", "g0"]
    for graph, number in zip(new.graphs, (4, 0), strict=True):
        assert graph.x.dtype == task.graphs[number].x.dtype
        assert torch.equal(graph.x, task.graphs[number].x[:1])


def test_parquet_and_files_without_targets(tmp_path):
    task = graph_folder(OWN)
    expected = without_targets(task.graphs)
    assert_same_graphs(read(to_parquet(OWN, tmp_path / "parquet"), task).graphs, expected)
    for name in ("nodes.csv", "edges.csv"):
        write(tmp_path / "bare", {name: (OWN / name).read_text().splitlines()})
    assert_same_graphs(read(tmp_path / "bare", task).graphs, expected)
    write(tmp_path / "bare", {"graphs.csv": ["graph", "path-4", "ring-3"]})
    with pytest.raises(UserError, match="has no row among the graphs"):
        read(tmp_path / "bare", task)


def test_other_feature_columns_are_not_read(tmp_path):
    task = graph_folder(with_nodes(tmp_path, "x_a", lambda i, v: v))
    expected = without_targets(task.graphs)
    assert_same_graphs(read(with_nodes(tmp_path, "cat_z,x_b,x_a", lambda i, v: f"7,8,{v}"), task).graphs, expected)
    edgeless = read(tmp_path, task, with_edges=False).graphs
    assert not any("edge_attr" in graph for graph in edgeless)


def test_names_of_nodes_follow_their_rows(tmp_path):
    rows = [f"g{i},{node},{10 * i + v}" for v, node in enumerate("cab") for i in range(10)]
    folder = write(ten_paths(tmp_path), {"nodes.csv": ["graph,node,x_a", *rows]})
    task = graph_folder(folder)
    new = read(folder, task)
    values = torch.cat([graph.x for graph in new.graphs]).flatten().tolist()
    assert [(10 * i + "cab".index(node)) for i in range(10) for node in new.nodes[3 * i : 3 * i + 3]] == values


LINES = {
    "category": ("nodes.csv", 9, "g2,b,9", "nodes.csv, line 9: '9' in 'cat_kind' did not occur in training, where the"),
    "no category": ("nodes.csv", 9, "g2,b,red", "nodes.csv, line 9: 'red' in 'cat_kind' is not a whole number"),
    "number": ("edges.csv", 6, "g2,a,b,long", "edges.csv, line 6: 'long' in 'x_length' is not a finite number"),
    "node": ("edges.csv", 6, "g2,a,z,1", "edges.csv, line 6: target 'z' is not a node of graph 'g2'"),
}


@pytest.mark.parametrize(("file", "line", "text", "sentence"), LINES.values(), ids=LINES)
def test_a_wrong_line_is_named_or_its_graph_left_out(tmp_path, file, line, text, sentence):
    task = graph_folder(ten_paths(tmp_path))
    change(tmp_path / file, line, text)
    with pytest.raises(UserError) as caught:
        read(tmp_path, task)
    assert str(caught.value).startswith(f"{tmp_path}/{sentence}")
    assert str(caught.value).endswith("(use --on-error skip to leave it out)")
    assert read(tmp_path, task, on_error="skip").names == [f"g{i}" for i in range(10) if i != 2]


def test_missing_columns_and_files(tmp_path):
    task = graph_folder(ten_paths(tmp_path))
    change(tmp_path / "nodes.csv", 1, "graph,node,cat_sort")
    with pytest.raises(UserError, match=r"nodes.csv, line 1: there is no column 'cat_kind': add it"):
        read(tmp_path, task)
    (tmp_path / "nodes.csv").unlink()
    with pytest.raises(UserError, match=r"there is no nodes.csv in"):
        read(tmp_path, task)
    with pytest.raises(UserError, match="this model was trained on digits, not on tables whose columns have names"):
        from_folder(OWN, {}, "digits", True, Problems("raise"))


# SMILES


def test_smiles_are_encoded_as_in_training():
    task = smiles_csv(FILE, targets="logp")
    new = from_smiles(FILE, "smiles", task.reading, "smiles_csv", Problems("raise"))
    assert_same_graphs(new.graphs, without_targets(task.graphs))
    assert new.names[:2] == [line.split(",")[1] for line in FILE.read_text().splitlines()[1:3]]
    assert new.called == "smiles"


def test_smiles_of_the_molecules_that_come_with_rdkit(tmp_path):
    task = molecules(lines=50)
    assert (task.notes["unreadable"], task.notes["repeated"]) == (0, 0)
    lines = Path(RDConfig.RDDataDir, "NCI", "first_5K.smi").read_text().splitlines()[:50]
    write(tmp_path, {"some.csv": ["name", *[line.split()[0] for line in lines], "[U]"]})
    new = from_smiles(tmp_path / "some.csv", "name", task.reading, "molecules", Problems("raise"))
    assert_same_graphs(new.graphs[:-1], without_targets(task.graphs))
    assert new.graphs[-1].x.tolist() == [[0]]  # the number of all types that are rare


def test_mistakes_in_smiles(tmp_path):
    file = write(tmp_path, {"new.csv": ["smiles", "CCO", "C1CC", "CO"]}) / "new.csv"
    reading = {"smiles": "atom_columns"}
    with pytest.raises(UserError, match=r"new.csv, line 3: 'C1CC' is not a molecule"):
        from_smiles(file, "smiles", reading, "smiles_csv", Problems("raise"))
    assert from_smiles(file, "smiles", reading, "smiles_csv", Problems("skip")).names == ["CCO", "CO"]
    with pytest.raises(UserError, match="there is no column 'SMILES'"):
        from_smiles(file, "SMILES", reading, "smiles_csv", Problems("raise"))
    with pytest.raises(UserError, match="this model was trained on zinc, which does not say how SMILES become"):
        from_smiles(file, "smiles", {}, "zinc", Problems("raise"))
