from collections import Counter

import networkx as nx
import pytest
from helpers.graphs import to_networkx

from gredkit.data.datasets.tree_match import tree_match
from gredkit.data.objectives import IGNORED
from gredkit.errors import UserError


@pytest.mark.parametrize("depth", range(1, 9))
def test_the_root_is_asked_for_the_class_of_the_leaf_with_its_count(depth):
    task = tree_match(depth=depth, graphs=20)
    leaves = 2**depth
    for graph in task.graphs:
        tree = to_networkx(graph)
        assert nx.is_tree(tree)
        (root,) = (graph.y != IGNORED).nonzero()[:, 0].tolist()
        distance = nx.single_source_shortest_path_length(tree, root)
        children = {v: tree.degree(v) - (v != root) for v in tree}
        assert all(children[v] == (0 if distance[v] == depth else 2) for v in tree)
        ends = [v for v in tree if distance[v] == depth]
        assert sorted(graph.x[ends, 0].tolist()) == sorted(graph.x[ends, 1].tolist()) == list(range(1, leaves + 1))
        (answer,) = [v for v in ends if graph.x[v, 0] == graph.x[root, 0]]
        assert graph.y[root] == graph.x[answer, 1] - 1
        assert graph.x[root, 1] == 0
        between = [v for v in tree if 0 < distance[v] < depth]
        assert not graph.x[between].any()


def test_classes_and_questions_are_uniform():
    task = tree_match(depth=3, graphs=4000)
    for values in ([int(g.y[0]) for g in task.graphs], [int(g.x[0, 0]) - 1 for g in task.graphs]):
        count = Counter(values)
        assert sorted(count) == list(range(8))
        # 500 of each are expected, give or take 21.
        assert max(abs(count[c] - 500) for c in count) < 4 * 21


def test_the_question_does_not_give_the_answer_away():
    seen = {(int(g.x[0, 0]), int(g.y[0])) for g in tree_match(depth=2, graphs=96).graphs}
    assert len(seen) == 16


def test_no_graph_is_drawn_twice():
    task = tree_match(depth=2, graphs=1000)
    assert len(task.graphs) == 96  # 4! orders of the classes, 4 questions
    assert len({tuple(graph.x.flatten().tolist()) for graph in task.graphs}) == 96
    assert [len(task.part(split)) for split in ("train", "validation", "test")] == [58, 19, 19]


def test_a_tree_needs_leaves():
    with pytest.raises(UserError, match="depth is a whole number from 1 to 10, not 0"):
        tree_match(depth=0)


def test_edges_may_lead_to_the_root_only():
    (graph, *_), (both, *_) = (tree_match(depth=3, graphs=5, directed=way).graphs for way in (True, False))
    upwards = nx.DiGraph(graph.edge_index.T.tolist())
    assert all(upwards.out_degree(v) == (v != 0) for v in range(15))
    assert nx.is_arborescence(upwards.reverse())
    assert set(map(tuple, both.edge_index.T.tolist())) == {*upwards.edges, *upwards.reverse().edges}


def test_all_graphs_may_be_for_training_validation_and_test_alike():
    task = tree_match(depth=3, graphs=50, fit_only=True)
    for split in ("train", "validation", "test"):
        assert task.part(split) == task.graphs
