import numpy as np
import pytest
from torch_geometric.utils import to_dense_adj

from gredkit.data.datasets.cluster_sbm import cluster_sbm
from gredkit.data.task import Task


@pytest.fixture(scope="module")
def task() -> Task:
    return cluster_sbm(train=60, validation=30, test=30)


def test_every_block_has_5_to_34_nodes(task):
    sizes = np.stack([np.bincount(graph.y, minlength=6) for graph in task.graphs])
    assert sizes.shape[1] == 6
    assert sizes.min() >= 5
    assert sizes.max() <= 34
    assert abs(sizes.mean() - 19.5) < 4 * 8.66 / np.sqrt(sizes.size)


def test_one_node_a_block_tells_its_number(task):
    for graph in task.graphs:
        telling = graph.x[:, 0] > 0
        assert sorted(graph.y[telling].tolist()) == list(range(6))
        assert (graph.x[telling, 0] == graph.y[telling] + 1).all()


def test_any_node_of_a_block_may_be_the_one():
    """Its place among the nodes of its block, in their order, is uniform."""
    places = []
    for graph in cluster_sbm(train=200, validation=1, test=1).graphs:
        for block in range(6):
            symbol = graph.x[graph.y == block, 0]
            places.append((int(symbol.argmax()) + 0.5) / len(symbol))
    assert abs(np.mean(places) - 0.5) < 4 * np.sqrt(1 / 12 / len(places))
    assert 0.26 < np.std(places) < 0.31


def test_edge_densities_within_and_between_blocks(task):
    found, pairs = np.zeros(2), np.zeros(2)
    for graph in task.graphs:
        adjacent = to_dense_adj(graph.edge_index, max_num_nodes=graph.num_nodes)[0].numpy()
        same = (graph.y[:, None] == graph.y).numpy()
        above = np.triu(np.ones_like(same), 1)
        for i, among in enumerate((same & above, ~same & above)):
            found[i] += adjacent[among].sum()
            pairs[i] += among.sum()
    expected = np.array([0.55, 0.25])
    assert (abs(found / pairs - expected) < 4 * np.sqrt(expected * (1 - expected) / pairs)).all()


def test_nodes_are_in_random_order(task):
    """Neighbours in the list are of the same block no more often than others: about one pair in five."""
    for graph in task.graphs[:20]:
        assert (graph.y[1:] == graph.y[:-1]).float().mean() < 0.45
