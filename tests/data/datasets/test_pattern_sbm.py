import numpy as np
import pytest
from torch_geometric.utils import to_dense_adj

from gredkit.data.datasets.pattern_sbm import pattern_sbm
from gredkit.data.task import Task

PATTERNS = 20


@pytest.fixture(scope="module")
def task() -> Task:
    return pattern_sbm(train=200, validation=60, test=40, patterns=PATTERNS)


def adjacency(graph) -> np.ndarray:
    return to_dense_adj(graph.edge_index, max_num_nodes=graph.num_nodes)[0].bool().numpy()


def test_sizes_of_blocks_and_patterns(task):
    hidden = np.array([int(graph.y.sum()) for graph in task.graphs])
    others = np.array([graph.num_nodes for graph in task.graphs]) - hidden
    assert (hidden >= 5).all()
    assert (hidden <= 34).all()
    assert (others >= 5 * 5).all()
    assert (others <= 5 * 34).all()
    # Five blocks of 19.5 nodes, give or take 8.66 each.
    assert abs(others.mean() - 97.5) < 4 * 8.66 * np.sqrt(5 / len(others))


def test_the_label_is_membership_of_the_pattern(task):
    """Graphs that share a pattern share what is labelled 1: its edges and symbols, up to the order of nodes."""
    described: dict[int, set] = {}
    for split in task.splits:
        for i, graph in enumerate(task.part(split)):
            member = graph.y.bool().numpy()
            inside = adjacency(graph)[np.ix_(member, member)]
            symbol = graph.x[graph.y.bool(), 0].tolist()
            profile = sorted(zip(symbol, inside.sum(1).tolist(), (inside @ inside.sum(1)).tolist(), strict=True))
            described.setdefault(i % PATTERNS, set()).add(tuple(profile))
    assert len(described) == PATTERNS
    assert all(len(profiles) == 1 for profiles in described.values())
    assert len(set.union(*described.values())) == PATTERNS


def test_edge_densities(task):
    """Within 4 standard errors: 0.5 to the pattern, elsewhere as blocks with 0.5 and 0.35 would have it."""
    size = np.arange(5, 35)
    same, different = 5 * (size * (size - 1)).mean(), 20 * size.mean() ** 2
    among_others = (0.5 * same + 0.35 * different) / (same + different)
    for kinds, expected in (((0, 1), 0.5), ((0, 0), among_others)):
        found, pairs = [], []
        for graph in task.graphs:
            among = np.ix_(*(graph.y.numpy() == kind for kind in kinds))
            found.append(adjacency(graph)[among].sum())
            pairs.append((~np.eye(graph.num_nodes, dtype=bool))[among].sum())
        error = np.std(found - expected * np.array(pairs)) * np.sqrt(len(found)) / np.sum(pairs)
        assert error < 0.001  # enough graphs to tell
        assert abs(np.sum(found) / np.sum(pairs) - expected) < 4 * error


def test_edge_density_in_patterns():
    found = pattern_sbm(train=200, validation=1, test=1, patterns=200).part("train")
    inside = [adjacency(graph)[np.ix_(graph.y == 1, graph.y == 1)] for graph in found]
    pairs = sum(len(one) * (len(one) - 1) for one in inside) / 2
    assert abs(sum(one.sum() for one in inside) / 2 / pairs - 0.5) < 4 * np.sqrt(0.25 / pairs)


def test_symbols_are_uniform(task):
    symbol = np.concatenate([graph.x[graph.y == 0, 0].numpy() for graph in task.graphs])
    share = np.bincount(symbol) / len(symbol)
    assert abs(share - 1 / 3).max() < 4 * np.sqrt(2 / 9 / len(symbol))


def test_neighbours_of_a_node_are_joined_more_often_than_others(task):
    """By as much as five blocks of 5..34 nodes bring about; without blocks, transitivity would be the density."""
    excess = []
    for graph in task.graphs:
        others = graph.y.numpy() == 0
        adjacent = adjacency(graph)[np.ix_(others, others)].astype(float)
        degree, nodes = adjacent.sum(1), len(adjacent)
        transitivity = np.trace(adjacent @ adjacent @ adjacent) / (degree * (degree - 1)).sum()
        excess.append(transitivity - degree.sum() / (nodes * (nodes - 1)))

    n = np.random.default_rng(0).integers(5, 35, (20000, 5))
    nodes, p, q = n.sum(1), 0.5, 0.35
    pairs, triples = nodes * (nodes - 1) / 2, nodes * (nodes - 1) * (nodes - 2) / 6
    both, all_three = (n * (n - 1) / 2).sum(1), (n * (n - 1) * (n - 2) / 6).sum(1)
    two = (n * (n - 1) / 2 * (nodes[:, None] - n)).sum(1)
    apart = triples - all_three - two
    closed = 3 * (all_three * p**3 + two * p * q**2 + apart * q**3)
    paths = 3 * all_three * p**2 + two * (2 * p * q + q**2) + 3 * apart * q**2
    expected = (closed / paths - (both * p + (pairs - both) * q) / pairs).mean()
    error = np.std(excess) / np.sqrt(len(excess))
    assert expected > 6 * error  # enough graphs to tell
    assert abs(np.mean(excess) - expected) < 3 * error
