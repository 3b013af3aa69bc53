"""GRED's unfair advantage on eccentricities: its sequences are as long as they are. gin/variants/hidden_length.gin."""

from functools import cache

import networkx as nx
import pytest
import torch
from helpers.graphs import from_networkx
from torch import Tensor
from torch_geometric.data import Batch

from gredkit import add_hops
from gredkit.config.configuration import Configuration
from gredkit.config.source import Source
from gredkit.data.datasets.echo import echo_eccentricity
from gredkit.registry import DATASETS

ENTRY, VARIANT = "echo_eccentricity", "gin/variants/hidden_length.gin"
LENGTHS = (18, 23, 30, 41)  # nodes of lines, with diameters from 17 to 40


def configuration(hidden: bool, *bindings: str) -> Configuration:
    return Source((VARIANT,) if hidden else (), bindings).load(ENTRY)


def outputs(hidden: bool, *bindings: str) -> tuple[Tensor, Tensor]:
    """Of all nodes of lines whose features carry nothing, and the nodes' eccentricities."""
    configured = configuration(hidden, *bindings)
    spec = DATASETS[ENTRY](copies=1, least=10, most=10).spec
    torch.manual_seed(0)
    model = configured.composition(spec).build(spec).double().eval()
    graphs, farthest = [], []
    for nodes in LENGTHS:
        line = from_networkx(nx.path_graph(nodes).to_directed())
        line.x = torch.tensor([[0.0, 1.0]], dtype=torch.float64).expand(nodes, 2)
        graphs.append(add_hops(line, configured.trial.K))
        farthest += [max(v, nodes - 1 - v) for v in range(nodes)]
    with torch.no_grad():
        return model(Batch.from_data_list(graphs))[:, 0], torch.tensor(farthest)


@cache
def lengths(K: int | None) -> tuple[list[int], list[int]]:
    """The length of each node's sequence without hop 0, and its eccentricity, in all graphs of the task."""
    found: list[int] = []
    asked: list[int] = []
    for graph in echo_eccentricity(copies=1).graphs:
        found += (add_hops(graph, K).hop_seq_length - 1).tolist()
        asked += (40 * graph.y[:, 0]).round().int().tolist()
    return found, asked


def test_the_sequence_of_all_hops_is_as_long_as_the_answer():
    found, asked = lengths(None)
    assert found == asked


def test_hidden_sequences_are_equally_long_without_an_empty_hop_and_layers_reach_the_largest_distance():
    configured = configuration(True)
    K = configured.trial.K
    found, asked = lengths(K)
    assert set(found) == {K}
    assert K < min(asked) < max(asked) == 40
    layers = configured.composition(DATASETS[ENTRY](copies=1, least=10, most=10).spec).flat()["models.gred.layers"]
    assert K * layers >= 40


def test_a_model_that_reads_nothing_but_lengths_knows_nothing_when_they_are_hidden():
    """Means of equal features are equal, so only the length of its sequence could tell a node from another."""
    hidden, farthest = outputs(True, "variant.aggregator = 'mean'")
    assert len(farthest.unique()) > 20
    torch.testing.assert_close(hidden, hidden[:1].expand_as(hidden), rtol=1e-9, atol=1e-9)
    plain, _ = outputs(False, "variant.aggregator = 'mean'")
    assert len({round(value, 9) for value in plain.tolist()}) >= len(farthest.unique())


@pytest.mark.parametrize("encoder", ["lru", "lstm", "attention"])
def test_nodes_with_equal_visible_hops_get_equal_outputs_whatever_their_eccentricity(encoder):
    """One layer of the variant: inside a line, more than 8 hops from its ends, all nodes see two nodes in each hop."""
    bindings = (f"variant.encoder = {encoder!r}", "LAYERS = 1")
    inside = torch.tensor([8 <= v < nodes - 8 for nodes in LENGTHS for v in range(nodes)])
    hidden, farthest = outputs(True, *bindings)
    assert len(farthest[inside].unique()) > 10
    assert hidden[inside].std() < 1e-9
    plain, _ = outputs(False, *bindings)
    assert plain[inside].std() > 1e-4
