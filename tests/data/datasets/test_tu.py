import json

import numpy as np
import pytest
import torch
from helpers.raw_files import GRAPHS, tu_graphs, write_splits, write_tu, write_tu_file

from gredkit.data.datasets.tu import proteins, tu
from gredkit.data.folds import stratified_folds
from gredkit.errors import UserError

# Any ten folds that are not the ones that would be dealt out.
GIVEN = stratified_folds([0] * GRAPHS, folds=10, seed=7)


def nodes_of(graphs):
    return sum(graph.num_nodes for graph in graphs)


@pytest.mark.parametrize("fold", [0, 4, 9])
def test_given_folds_are_taken(fold, tmp_path):
    write_tu(tmp_path, "PROTEINS", node_labels=3)
    path = write_splits(tmp_path, "PROTEINS", GIVEN)
    task = proteins(fold=fold, root=str(tmp_path))
    assert task.splits == GIVEN[fold]
    assert task.notes["folds"] == f"10, given by {path}"
    assert task.notes["fold"] == fold


@pytest.mark.parametrize("fold", [0, 4, 9])
def test_without_a_file_folds_are_dealt_out(fold, tmp_path):
    written = write_tu(tmp_path, "PROTEINS", node_labels=3)
    task = proteins(fold=fold, root=str(tmp_path))
    assert task.splits == stratified_folds([int(graph.y) for graph in written], folds=10, seed=0)[fold]
    assert task.notes["folds"] == "10, stratified, seed 0"
    assert task.splits == proteins(fold=fold, root=str(tmp_path)).splits


def test_a_fold_that_is_not_there(tmp_path):
    write_tu(tmp_path, "PROTEINS", node_labels=3)
    for fold in (-1, 10):
        with pytest.raises(UserError, match=rf"fold.* 0 to .*, not {fold}"):
            proteins(fold=fold, root=str(tmp_path))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "cannot be read"),
        ("7", "cannot be read"),
        ('[{"test": [0]}]', "cannot be read"),
        ('[{"test": [0], "model_selection": []}]', "cannot be read"),
        (json.dumps([{"test": [0], "model_selection": [{"train": [1], "validation": [1]}]}]), "does not have each"),
    ],
)
def test_a_wrong_splits_file(text, said, tmp_path):
    write_tu(tmp_path, "PROTEINS", node_labels=3)
    (tmp_path / "PROTEINS" / "splits.json").write_text(text)
    with pytest.raises(UserError, match=rf"splits\.json {said}") as error:
        proteins(root=str(tmp_path))
    assert "\n" not in str(error.value)


def test_without_labels_and_attributes_all_nodes_are_alike(tmp_path):
    written = write_tu(tmp_path, "IMDB-BINARY")
    task = tu("IMDB-BINARY", root=str(tmp_path))
    assert task.spec.nodes == (1,)
    assert task.spec.edges is None
    assert task.name == "imdb-binary"
    for found, graph in zip(task.graphs, written, strict=True):
        assert torch.equal(found.x, torch.zeros(graph.num_nodes, 1, dtype=torch.long))
        assert torch.equal(found.edge_index, graph.edge_index)
        assert torch.equal(found.y, graph.y)


def test_labels_stand_alone_beside_attributes(tmp_path):
    written = write_tu(tmp_path, "ENZYMES", node_labels=3)
    write_tu_file(tmp_path, "ENZYMES", "node_attributes", torch.randn(nodes_of(written), 5))
    task = tu("ENZYMES", root=str(tmp_path))
    assert task.spec.nodes == (3,)
    for found, graph in zip(task.graphs, written, strict=True):
        assert torch.equal(found.x, graph.x)


def test_attributes_without_labels_are_dense_columns(tmp_path):
    written = write_tu(tmp_path, "Letter")
    attributes = torch.randn(nodes_of(written), 2)
    lengths = torch.randn(sum(graph.num_edges for graph in written))
    write_tu_file(tmp_path, "Letter", "node_attributes", attributes)
    write_tu_file(tmp_path, "Letter", "edge_attributes", lengths)
    task = tu("Letter", root=str(tmp_path))
    assert (task.spec.nodes, task.spec.edges) == (2, 1)
    torch.testing.assert_close(torch.cat([graph.x for graph in task.graphs]), attributes)
    torch.testing.assert_close(torch.cat([graph.edge_attr for graph in task.graphs])[:, 0], lengths)


def test_several_labels_a_node_are_columns_of_zeros_and_ones(tmp_path):
    written = write_tu(tmp_path, "Cuneiform")
    labels = torch.from_numpy(np.random.default_rng(0).integers([0, 0], [2, 3], (nodes_of(written), 2)))
    write_tu_file(tmp_path, "Cuneiform", "node_labels", labels)
    task = tu("Cuneiform", root=str(tmp_path))
    assert task.spec.nodes == 5
    expected = torch.cat([torch.eye(2)[labels[:, 0]], torch.eye(3)[labels[:, 1]]], 1)
    assert torch.equal(torch.cat([graph.x for graph in task.graphs]), expected)


def test_an_edge_given_twice_keeps_its_label(tmp_path):
    write_tu(tmp_path, "MUTAG", node_labels=7, edge_labels=4)
    raw = tmp_path / "MUTAG" / "raw"
    for part in ("A", "edge_labels"):
        file = raw / f"MUTAG_{part}.txt"
        lines = file.read_text().splitlines(keepends=True)
        file.write_text("".join([*lines, lines[0]]))
    task = tu("MUTAG", root=str(tmp_path))
    assert task.spec.edges == (4,)
    for found, graph in zip(task.graphs, tu_graphs(7, 4), strict=True):
        assert torch.equal(found.edge_index, graph.edge_index)
        assert torch.equal(found.edge_attr, graph.edge_attr)


def test_only_classification(tmp_path):
    write_tu(tmp_path, "QM9", node_labels=3)
    write_tu_file(tmp_path, "QM9", "graph_attributes", torch.randn(GRAPHS, 2))
    with pytest.raises(UserError, match="QM9 does not have a class for each graph"):
        tu("QM9", root=str(tmp_path))
