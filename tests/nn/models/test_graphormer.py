"""What is special about `graphormer`; what all models have in common is in test_models_all.py."""

import networkx as nx
import pytest
import torch
from helpers.graphs import any_graphs, from_networkx, to_networkx
from hypothesis import given, settings
from hypothesis import strategies as st
from torch_geometric.data import Batch

from gredkit import GraphSpec
from gredkit.ablation.described import reads_hops
from gredkit.data.shortest_paths import ShortestPaths
from gredkit.errors import UserError
from gredkit.nn.distances.all_pairs import AllPairs
from gredkit.nn.distances.spatial_bias import spatial_types
from gredkit.nn.models.drew import DRew
from gredkit.nn.models.graphormer import Graphormer
from gredkit.nn.parameters import count_parameters

SPEC = GraphSpec(nodes=3, outputs=2, edges=(4,))


@settings(max_examples=25, deadline=None)
@given(st.lists(any_graphs(), min_size=1, max_size=3), st.integers(1, 4))
def test_types_are_distances_of_networkx(graphs, count):
    model = Graphormer(SPEC, dim=8, layers=1, num_spatial_types=count)
    batch = Batch.from_data_list([_prepared(model, one) for one in graphs])
    types = spatial_types(batch, AllPairs.of(batch), count)
    assert types.shape[1] == max(one.num_nodes for one in graphs)
    for one, found in zip(graphs, types.tolist(), strict=True):
        near = dict(nx.all_pairs_shortest_path_length(to_networkx(one)))
        for q in range(one.num_nodes):
            expected = [min(near[q][k], count - 1) if k in near[q] else count for k in range(one.num_nodes)]
            assert found[q][: one.num_nodes] == expected


def _prepared(model, data):
    for structure in model.needs(None):
        data = structure.add_to(data)
    return data


def test_published_size():
    """GraphGPS states no number; Graphormer-SLIM, of the same widths, has 489,321 (Ying et al., 2021)."""
    zinc = GraphSpec(nodes=(28,), outputs=1, edges=(4,))
    model = Graphormer(zinc, features="embedding", edge_features="embedding", head_layers=1)
    assert count_parameters(model) == 484_697
    assert abs(count_parameters(model) / 489_321 - 1) < 0.02


def test_only_hops_that_are_read_count_and_paths_are_computed_where_they_are_asked_for():
    model = Graphormer(SPEC, dim=8, layers=1)
    assert not reads_hops(model)
    assert reads_hops(DRew(SPEC, dim=8, layers=2))
    assert not any(isinstance(structure, ShortestPaths) for structure in model.needs(None))
    with_edges = Graphormer(SPEC, dim=8, layers=1, edge_features="embedding")
    assert any(isinstance(structure, ShortestPaths) for structure in with_edges.needs(None))


@pytest.mark.parametrize("graph_token", [True, False])
def test_a_graph_without_nodes_does_no_harm(graph_token):
    torch.manual_seed(0)
    model = Graphormer(SPEC, dim=8, layers=2, graph_token=graph_token).eval()
    graphs = [_prepared(model, from_networkx(nx.path_graph(n))) for n in (3, 0, 2)]
    for one in graphs:
        one.x = torch.ones(one.num_nodes, 3)
    out = model(Batch.from_data_list(graphs))
    out.sum().backward()
    assert out.isfinite().all()
    assert all(p.grad is None or p.grad.isfinite().all() for p in model.parameters())
    torch.testing.assert_close(out[[0, 2]], model(Batch.from_data_list([graphs[0], graphs[2]])))


def test_the_token_gives_the_answer_unless_a_readout_is_named():
    assert Graphormer(SPEC, dim=8, layers=1).reads_token
    assert not Graphormer(SPEC, dim=8, layers=1, readout="mean").reads_token
    assert not Graphormer(GraphSpec(nodes=3, outputs=2, level="node"), dim=8, layers=1).reads_token


@pytest.mark.parametrize(
    ("setting", "sentence"),
    [
        ({"heads": 3}, "dim=8 is no multiple of heads=3"),
        ({"num_spatial_types": 0}, "num_spatial_types is a whole number from 1"),
        ({"num_degrees": 0}, "num_degrees is a whole number from 1"),
        ({"mlp_dropout": 1}, "mlp_dropout is a share from 0"),
    ],
)
def test_mistakes_end_in_a_sentence(setting, sentence):
    with pytest.raises(UserError, match=sentence):
        Graphormer(SPEC, dim=8, **setting)


def test_edges_are_asked_for_where_there_are_none():
    with pytest.raises(UserError, match="these graphs carry none"):
        Graphormer(GraphSpec(nodes=3, outputs=2), dim=8, edge_features="categorical")
