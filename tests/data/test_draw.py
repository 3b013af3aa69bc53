import networkx as nx
import numpy as np
import pytest
import torch
from helpers.graphs import any_graphs, from_networkx, to_networkx
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.collections import LineCollection, PathCollection
from matplotlib.colors import to_hex
from torch_geometric.data import Data

from gredkit.data.draw import BEYOND, distances, draw, layout


@given(any_graphs().filter(lambda data: data.num_nodes > 0), st.sampled_from([None, 0, 2]), st.data())
def test_distances_are_those_of_networkx(data, K, draws):
    node = draws.draw(st.integers(0, data.num_nodes - 1))
    reached = nx.single_source_shortest_path_length(to_networkx(data), node, cutoff=K)
    assert distances(data, node, K).tolist() == [reached.get(v, -1) for v in range(data.num_nodes)]


def test_the_picture_shows_every_node_in_the_colour_of_its_hop():
    figure = draw(from_networkx(nx.path_graph(7)), node=1, K=3, title="a path")
    axes, bar = figure.axes
    assert axes.get_title() == "a path"
    assert bar.get_ylabel() == "hops from the ringed node"
    (lines,) = [c for c in axes.collections if isinstance(c, LineCollection)]
    assert len(lines.get_segments()) == 6
    far, near, target = [c for c in axes.collections if isinstance(c, PathCollection)][:3]
    assert sorted(near.get_array()) == [0, 1, 1, 2, 3]
    assert len(far.get_offsets()) == 2
    assert to_hex(far.get_facecolor()[0]) == BEYOND
    ring = np.asarray(target.get_offsets())[0]
    assert ring.tolist() in near.get_offsets()[near.get_array() == 0].tolist()
    assert figure.legends[0].get_texts()[0].get_text() == "beyond K = 3"


@pytest.mark.parametrize("nodes", [1, 2])
def test_the_smallest_graphs_can_be_drawn(tmp_path, nodes):
    data = Data(edge_index=torch.empty(2, 0, dtype=torch.long), num_nodes=nodes)
    draw(data, 0, None, "lonely").savefig(tmp_path / "out.png")
    assert (tmp_path / "out.png").stat().st_size > 1000


def test_own_positions_are_kept():
    pos = torch.tensor([[0.0, 0.0], [4.0, 0.0], [4.0, 2.0]])
    placed = layout(Data(pos=pos, edge_index=torch.empty(2, 0, dtype=torch.long)))
    np.testing.assert_allclose(placed, [[0, 0], [2 / 3, 0], [2 / 3, -1 / 3]])


def test_a_large_graph_has_a_layout_too():
    placed = layout(from_networkx(nx.random_regular_graph(3, 700, seed=0)))
    assert placed.shape == (700, 2)
    assert np.isfinite(placed).all()
