"""Synthetic graphs: the same for the same seed, valid, and of the benchmarks' sizes and shapes."""

import networkx as nx
import numpy as np
import pytest
import torch
from helpers.graphs import to_networkx

from gredkit import add_hops
from gredkit.bench import graphs

MAKERS = {"zinc": graphs.zinc, "peptides": graphs.peptides, "cifar10": graphs.cifar10}


@pytest.mark.parametrize("name", MAKERS)
def test_a_seed_says_it_all(name):
    first, again, other = MAKERS[name](3, seed=5), MAKERS[name](3, seed=5), MAKERS[name](3, seed=6)
    for one, same in zip(first, again, strict=True):
        assert one.keys() == same.keys()
        assert all(torch.equal(one[key], same[key]) for key in one.keys())  # noqa: SIM118  not a dictionary
    assert any(not torch.equal(one.edge_index, two.edge_index) for one, two in zip(first, other, strict=True))


@pytest.mark.parametrize("name", MAKERS)
def test_graphs_are_valid(name):
    for data in MAKERS[name](20):
        assert data.validate()
        assert not data.has_self_loops()
        assert data.is_coalesced() or data.coalesce().num_edges == data.num_edges  # no edge twice


@pytest.mark.parametrize("name", ["zinc", "peptides"])
def test_molecules_are_connected_and_undirected(name):
    for data in MAKERS[name](20):
        assert data.is_undirected()
        assert nx.is_connected(to_networkx(data))
        assert max(degree for _, degree in to_networkx(data).degree) <= 4


@pytest.mark.parametrize(
    ("name", "nodes", "degree", "diameter"),
    [("zinc", 23.2, 2.15, 12.5), ("peptides", 150.9, 2.04, 57.0), ("cifar10", 117.6, 8.0, 9.0)],
)
def test_sizes_of_the_benchmarks(name, nodes, degree, diameter):
    made = MAKERS[name](100)
    sizes = [data.num_nodes for data in made]
    diameters = [nx.diameter(to_networkx(data)) for data in made[:20] if nx.is_connected(to_networkx(data))]
    assert np.mean(sizes) == pytest.approx(nodes, rel=0.05)
    assert sum(data.num_edges for data in made) / sum(sizes) == pytest.approx(degree, rel=0.05)
    assert np.mean(diameters) == pytest.approx(diameter, rel=0.15)


def test_hop_sets_are_shared_as_in_the_benchmarks():
    """Real Peptides have 3.5 rows per set at K = 40, ZINC has 1.3 at K = 4, superpixels hardly more than one."""
    for name, K, expected in (("peptides", 40, 3.5), ("zinc", 4, 1.26), ("cifar10", 4, 1.03)):
        made = [add_hops(data, K) for data in MAKERS[name](50)]
        rows, sets = (sum(data[key].numel() for data in made) for key in ("hop_seq_set", "hop_set_size"))
        assert rows / sets == pytest.approx(expected, rel=0.1), name


@pytest.mark.parametrize("nodes", [1, 2, 7, 24, 150, 444])
def test_molecules_of_an_exact_size(nodes):
    for data in graphs.molecules(nodes, 3):
        assert data.num_nodes == nodes
        assert nx.is_connected(to_networkx(data))


def test_features():
    zinc, peptide, image = graphs.zinc(1)[0], graphs.peptides(1)[0], graphs.cifar10(1)[0]
    assert zinc.x.shape == (zinc.num_nodes, 1)
    assert 0 <= zinc.x.min() <= zinc.x.max() < graphs.ATOMS == 28
    assert zinc.edge_attr.shape == (zinc.num_edges,)
    assert 0 <= zinc.edge_attr.min() <= zinc.edge_attr.max() < graphs.BONDS == 4
    both_ways = zinc.edge_attr[: zinc.num_edges // 2]
    assert torch.equal(both_ways, zinc.edge_attr[zinc.num_edges // 2 :])  # a bond is of one type

    assert peptide.x.shape == (peptide.num_nodes, 9)
    assert (peptide.x.min(0).values >= 0).all()
    assert (peptide.x.max(0).values < torch.tensor(graphs.OGB_ATOM)).all()
    assert peptide.y.shape == (1, 10)

    assert image.x.shape == (image.num_nodes, 5)
    assert image.x.dtype == torch.float32
    outgoing = torch.bincount(image.edge_index[0], minlength=image.num_nodes)
    assert (outgoing == 8).all()
    assert not image.is_undirected()
