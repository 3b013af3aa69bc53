import torch
from helpers.graphs import any_graphs, graph, to_networkx
from hypothesis import given, settings
from torch_geometric.data import Data

from gredkit.nn.positional.degree import Degree


@settings(deadline=None)
@given(any_graphs())
def test_degree_counts_distinct_neighbours(data: Data) -> None:
    neighbours = to_networkx(data).adj
    assert Degree().precompute(data).tolist() == [len(set(neighbours[v]) - {v}) for v in range(data.num_nodes)]


def star(leaves: int) -> Data:
    return graph(leaves + 1, [(0, v) for v in range(1, leaves + 1)])


def test_degrees_from_the_largest_on_share_an_embedding() -> None:
    pe = Degree(largest=3, width=4)
    centre = [pe(pe.add_to(star(leaves)))[0] for leaves in (1, 2, 3, 4, 50)]
    assert torch.equal(torch.stack(centre), pe.embed.weight[[1, 2, 3, 3, 3]])


def test_the_stored_degree_does_not_depend_on_the_largest() -> None:
    data = Degree(largest=2).add_to(star(7))
    wide = Degree(largest=10)
    assert torch.equal(wide(data)[0], wide.embed.weight[7])


def test_nodes_without_edges_have_degree_zero() -> None:
    assert Degree().precompute(Data(num_nodes=3)).tolist() == [0, 0, 0]
