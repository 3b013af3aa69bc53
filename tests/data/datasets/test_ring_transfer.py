import networkx as nx
import pytest
import torch
from torch_geometric.utils import to_networkx

from gredkit.data.datasets.ring_transfer import ring_transfer
from gredkit.data.objectives import IGNORED
from gredkit.errors import UserError


@pytest.mark.parametrize("distance", [1, 2, 7])
def test_the_answer_stands_on_the_far_side_of_the_ring(distance):
    task = ring_transfer(distance=distance, symbols=4, graphs=20)
    assert [len(task.part(split)) for split in ("train", "validation", "test")] == [12, 4, 4]
    for graph in task.graphs:
        ring = to_networkx(graph, to_undirected=True)
        assert nx.is_isomorphic(ring, nx.cycle_graph(2 * distance))
        (asked,) = (graph.y != IGNORED).nonzero()[:, 0].tolist()
        assert graph.x[:, 1].nonzero()[:, 0].tolist() == [asked]
        (far,) = [u for u, d in nx.single_source_shortest_path_length(ring, asked).items() if d == distance]
        assert graph.y[asked] == graph.x[far, 0]


def test_the_seed_decides():
    def symbols(seed):
        return torch.stack([graph.x for graph in ring_transfer(graphs=10, seed=seed).graphs])

    assert torch.equal(symbols(1), symbols(1))
    assert not torch.equal(symbols(1), symbols(2))


def test_the_far_side_is_at_least_one_hop_away():
    with pytest.raises(UserError, match="distance is a whole number from 1 to 10,000, not 0"):
        ring_transfer(distance=0)
