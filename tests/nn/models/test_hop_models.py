"""What is special about `spn` and `drew`; what all models have in common is in test_models_all.py."""

import networkx as nx
import pytest
import torch
from helpers.graphs import from_networkx
from torch_geometric.data import Batch

from gredkit import GraphSpec
from gredkit.data.hops.counted import CountedHops
from gredkit.data.hops.structure import Hops
from gredkit.errors import UserError
from gredkit.nn.features.linear import Linear
from gredkit.nn.models.drew import DRew
from gredkit.nn.models.spn import SPN, SPNLayer
from gredkit.nn.parameters import count_parameters

NODES = GraphSpec(nodes=3, outputs=2, level="node")
LONG, SHORT = nx.path_graph(5), nx.complete_graph(3)


def drew_of(*graphs, release):
    torch.manual_seed(0)
    model = DRew(NODES, dim=6, layers=4, release=release).eval()
    batch = Batch.from_data_list(
        [structure.add_to(from_networkx(g)) for g in graphs for structure in model.needs(None)]
    )
    generator = torch.Generator().manual_seed(1)
    return model.propagate(torch.cat([torch.randn(len(g), 6, generator=generator) for g in graphs]), batch)


def test_a_graph_decides_for_itself_unless_the_batch_is_asked_to():
    """By default a graph has in any batch what the published code computes for it alone."""
    alone = drew_of(SHORT, release="batch")
    torch.testing.assert_close(drew_of(SHORT, LONG, release="graph")[:3], alone)
    assert not torch.allclose(drew_of(SHORT, LONG, release="batch")[:3], alone, atol=1e-3)


@pytest.mark.parametrize(("nu", "delays"), [(1, [0, 1, 2, 3]), (3, [0, 0, 0, 1]), ("inf", [0, 0, 0, 0])])
def test_far_hops_arrive_late(nu, delays):
    assert DRew(NODES, dim=6, layers=4, nu=nu).layers[3].delays == delays


def test_how_far_they_read():
    drew, spn = DRew(NODES, dim=6, layers=5, hops=3), SPN(NODES, dim=6, layers=1, hops=4)
    assert [len(layer.linears) for layer in drew.layers] == [1, 2, 3, 3, 3]
    assert [drew.needs(K)[0] for K in (None, 9, 2)] == [CountedHops(3), CountedHops(3), CountedHops(2)]
    assert [spn.needs(K)[0] for K in (None, 9, 2)] == [Hops(4), Hops(4), Hops(2)]


def test_weights_of_hops_sum_to_one_and_end():
    weights = SPNLayer(dim=2, hops=3).weights(6)
    torch.testing.assert_close(weights[1:4].sum(), torch.tensor(1.0))
    assert weights[0] == 1
    assert not weights[4:].any()


def test_the_head_without_jumping_reads_the_last_layer():
    model = SPN(GraphSpec(nodes=3, outputs=2), dim=6, layers=2, initial=False, jumping=False).eval()
    graph = model.needs(None)[0].add_to(from_networkx(LONG))
    graph.x = torch.ones(5, 3)
    assert model(Batch.from_data_list([graph])).shape == (1, 2)


def test_published_sizes():
    """About 500,000 parameters is the budget that the paper of DRew states; it has no exact numbers."""
    peptides = GraphSpec(nodes=(119, 5, 12, 12, 10, 6, 6, 2, 2), outputs=10)
    deep = DRew(peptides, dim=42, layers=23, features="linear", head_layers=1)
    wide = DRew(peptides, dim=130, layers=7, nu="inf", features="linear", positional="lap_pe", head_layers=1)
    assert abs(count_parameters(deep) / 500_000 - 1) < 0.04
    assert abs(count_parameters(wide) / 500_000 - 1) < 0.01


def test_linear_features_of_categories_are_those_of_one_hot_rows():
    torch.manual_seed(0)
    symbols, dense = Linear((3, 2), 4), Linear(5, 4)
    dense.dense.weight.data = torch.cat([embed.weight for embed in symbols.embeds]).T
    dense.dense.bias.data = symbols.bias.data.fill_(0.5)
    x = torch.tensor([[2, 0], [1, 1]])
    one_hot = torch.cat([torch.eye(3)[x[:, 0]], torch.eye(2)[x[:, 1]]], 1)
    torch.testing.assert_close(symbols(x), dense(one_hot))


@pytest.mark.parametrize(
    ("model", "setting", "sentence"),
    [
        (DRew, {"nu": 0}, "nu, a number of layers or 'inf', is a whole number from 1"),
        (DRew, {"nu": -1}, "nu, a number of layers or 'inf', is a whole number from 1"),
        (DRew, {"hops": 0}, "hops is a whole number from 1"),
        (DRew, {"release": "node"}, "release is one of graph, batch"),
        (SPN, {"hops": None}, "hops is a whole number from 1"),
        (SPN, {"dropout": 1.0}, "dropout is a share from 0 to less than 1"),
    ],
)
def test_mistakes_end_in_a_sentence(model, setting, sentence):
    with pytest.raises(UserError, match=sentence):
        model(NODES, dim=6, **setting)
