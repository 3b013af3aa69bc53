"""The diameters of a sample of graphs, against networkx."""

import networkx as nx
import numpy as np
import pytest
import torch
from torch_geometric.data import Data

from gredkit.data.hops.diameter import LARGEST, SAMPLE, diameters


def as_data(graph):
    edges = torch.tensor(list(graph.edges), dtype=torch.long).view(-1, 2).T
    return Data(edge_index=edges, num_nodes=graph.number_of_nodes())


@pytest.mark.parametrize("seed", range(3))
def test_median_and_largest_are_those_of_networkx(seed):
    graphs = [nx.gnp_random_graph(12, 0.15, seed=100 * seed + i) for i in range(9)]
    known = [max(nx.diameter(graph.subgraph(piece)) for piece in nx.connected_components(graph)) for graph in graphs]
    assert diameters([as_data(graph) for graph in graphs]) == (np.median(known), max(known))


def test_a_sample_has_the_first_and_the_last():
    lengths = [9, *[3] * (3 * SAMPLE), 30]
    paths = {length: as_data(nx.path_graph(length)) for length in lengths}
    assert diameters([paths[length] for length in lengths]) == (2, 29)


def test_nothing_is_said_of_graphs_that_are_too_large_or_not_there():
    assert diameters([Data(edge_index=torch.empty(2, 0, dtype=torch.long), num_nodes=LARGEST + 1)]) is None
    assert diameters([]) is None
