"""The pairs of a hop index against networkx."""

import networkx as nx
import torch
from helpers.graphs import any_graphs, from_networkx, to_networkx
from hypothesis import given, settings
from hypothesis import strategies as st
from torch_geometric.data import Batch

from gredkit import add_hops
from gredkit.data.hops.counted import CountedHops
from gredkit.nn.distances.hop_pairs import HopPairs

K = 3


def expected(graphs):
    """(distance, target, source) of every pair up to K, in order."""
    found, first = [], 0
    for one in graphs:
        for target, near in nx.all_pairs_shortest_path_length(to_networkx(one), K):
            found += [(distance, first + target, first + source) for source, distance in near.items()]
        first += one.num_nodes
    return sorted(found)


@settings(max_examples=25, deadline=None)
@given(st.lists(any_graphs(), min_size=1, max_size=3))
def test_pairs_are_those_of_networkx_in_order(graphs):
    batch = Batch.from_data_list([CountedHops(K).add_to(one) for one in graphs])
    pairs = HopPairs(batch)
    listed = list(zip(pairs.distance.tolist(), pairs.target.tolist(), pairs.source.tolist(), strict=True))
    assert listed == expected(graphs)
    for k in range(pairs.width):
        matrix = pairs.neighbours(k)
        x = torch.arange(1.0, batch.num_nodes + 1)[:, None].double()
        wanted = torch.zeros_like(x)
        for _, target, source in (pair for pair in listed if pair[0] == k):
            wanted[target] += x[source]
        assert torch.equal(matrix.sum(x), wanted)
        assert torch.equal(matrix.transposed.sum(x), wanted)


def test_a_plain_hop_index_and_a_single_graph_give_the_same_pairs():
    house = from_networkx(nx.house_graph())
    counted, plain = HopPairs(CountedHops(None).add_to(house)), HopPairs(Batch.from_data_list([add_hops(house, None)]))
    for part in ("target", "source", "distance"):
        assert torch.equal(getattr(counted, part), getattr(plain, part))
    assert len(plain.source) == 25
