import numpy as np
import pytest

from gredkit.data.sbm import random_blocks, random_edges, shuffled_graph


def test_block_sizes_are_uniform_from_5_to_34():
    rng = np.random.default_rng(0)
    sizes = np.concatenate([np.bincount(random_blocks(rng, 6)) for _ in range(2000)])
    assert len(sizes) == 12000
    count = np.bincount(sizes, minlength=35)
    assert count[:5].sum() == 0
    assert len(count) == 35
    # 400 of each are expected; a binomial count strays by 20, and 30 sizes are looked at.
    assert abs(count[5:] - 400).max() < 4 * 20


@pytest.mark.parametrize("probability", [0.0, 0.2, 0.5, 1.0])
def test_every_pair_is_drawn_once_with_its_probability(probability):
    edges = random_edges(np.random.default_rng(1), np.full((300, 300), probability))
    assert (edges == edges.T).all()
    assert not edges.diagonal().any()
    pairs = 300 * 299 / 2
    found = np.triu(edges).sum()
    assert abs(found - probability * pairs) <= 4 * np.sqrt(pairs * probability * (1 - probability))


def test_pairs_have_probabilities_of_their_own():
    probability = np.zeros((6, 6))
    probability[1, 4] = probability[0, 5] = 1
    edges = random_edges(np.random.default_rng(2), probability)
    assert np.argwhere(edges).tolist() == [[0, 5], [1, 4], [4, 1], [5, 0]]


def test_shuffling_only_renames_nodes():
    path = np.eye(9, k=1, dtype=bool) | np.eye(9, k=-1, dtype=bool)
    names = np.arange(9)
    graph = shuffled_graph(np.random.default_rng(3), path, names, names % 2)
    old = graph.x[:, 0]
    assert old.tolist() != names.tolist()
    assert sorted(old.tolist()) == names.tolist()
    assert graph.y.tolist() == (old % 2).tolist()
    edges = sorted(old[graph.edge_index].T.tolist())
    assert edges == sorted([[v, v + 1] for v in range(8)] + [[v + 1, v] for v in range(8)])
