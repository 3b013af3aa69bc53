import networkx as nx
import numpy as np
import pytest
import torch
from helpers.graphs import to_networkx
from sklearn.datasets import load_digits

from gredkit.data.datasets.digits import digits
from gredkit.errors import UserError


def image_of(graph) -> np.ndarray:
    intensity, row, column = graph.x.T.double()
    image = np.zeros((8, 8))
    image[(row * 7).round().long(), (column * 7).round().long()] = intensity * 16
    return image


def test_every_image_reconstructs_from_its_graph():
    source, task = load_digits(), digits()
    assert len(task.graphs) == len(source.images) == 1797
    for image, label, graph in zip(source.images, source.target, task.graphs, strict=True):
        assert (image_of(graph) == image).all()
        assert graph.num_nodes == (image > 0).sum()
        assert graph.y.tolist() == [label]


@pytest.mark.parametrize(("neighbours", "farthest"), [(4, 1), (8, 2)])
def test_pixels_are_joined_to_those_that_touch_them(neighbours, farthest):
    for graph in digits(neighbours=neighbours).graphs[::60]:
        place = (graph.x[:, 1:] * 7).round()
        squared = (place[:, None] - place[None]).square().sum(-1)
        expected = ((squared > 0) & (squared <= farthest)).nonzero().tolist()
        assert sorted(graph.edge_index.T.tolist()) == sorted(expected)


def test_the_graphs_are_connected_and_many_hops_wide():
    whole = [to_networkx(graph) for graph in digits().graphs[::20]]
    assert all(nx.is_connected(one) for one in whole)
    assert min(nx.diameter(one) for one in whole) == 7


def test_without_positions_only_the_intensity_is_left():
    with_positions, without = digits(), digits(positions=False)
    assert (with_positions.spec.nodes, without.spec.nodes) == (3, 1)
    for one, other in zip(with_positions.graphs[:50], without.graphs[:50], strict=True):
        assert torch.equal(one.x[:, :1], other.x)
        assert torch.equal(one.edge_index, other.edge_index)


def test_every_split_has_its_share_of_every_digit():
    task = digits(train=0.5, validation=0.3)
    total = np.bincount(load_digits().target)
    of = {split: np.bincount([int(graph.y) for graph in task.part(split)]) for split in ("train", "validation", "test")}
    assert (abs(of["test"] - 0.2 * total) <= 1).all()
    left = total - of["test"]
    assert (abs(of["validation"] - 0.3 / 0.8 * left) <= 1).all()
    assert (of["train"] == left - of["validation"]).all()


def test_other_neighbourhoods_are_a_mistake():
    with pytest.raises(UserError, match="not 6"):
        digits(neighbours=6)
