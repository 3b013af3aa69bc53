"""What is special about `grit`; what all models have in common is in test_models_all.py."""

import pytest
import torch
from helpers.graphs import graph
from torch_geometric.data import Batch

from gredkit import GraphSpec
from gredkit.errors import UserError
from gredkit.nn.models.grit import GRIT
from gredkit.nn.parameters import count_parameters

SPEC = GraphSpec(nodes=3, outputs=2)


def test_numbers_of_parameters_of_the_published_configurations():
    """473,473 for ZINC is published (Ma et al., 2023); the other two are counted by hand from the configurations."""
    zinc, cifar10 = GraphSpec((21,), 1, (4,)), GraphSpec(5, 10, 1)
    symbols = {"features": "embedding", "edge_features": "embedding"}
    assert count_parameters(GRIT(zinc, **symbols, head="halving", head_layers=3)) == 473_473
    linear = {"features": "linear", "edge_features": "linear"}
    assert count_parameters(GRIT(cifar10, dim=52, layers=3, heads=4, rrwp=18, **linear)) == 99_486
    peptides = GraphSpec((119, 4, 12, 12, 10, 6, 6, 2, 2), 10, (5, 6, 2))
    found = count_parameters(GRIT(peptides, dim=96, layers=4, heads=4, rrwp=17, head_layers=1, **linear))
    assert found == 443_338 + 2 * 96  # the published code has no bias behind its embeddings


def test_a_walk_has_a_direction():
    """Nodes of different degree: the two orientations read different rows."""
    star = graph(4, [(0, 1), (0, 2), (0, 3), (2, 3)])
    star.x = torch.eye(4)[:, :3]
    answers = []
    for orientation in ("target_row", "source_row"):
        torch.manual_seed(0)
        answers.append(
            GRIT(SPEC, dim=8, layers=1, heads=2, rrwp=4, orientation=orientation).eval()(Batch.from_data_list([star]))
        )
    assert not torch.allclose(*answers, atol=1e-4)


@pytest.mark.parametrize(
    ("setting", "sentence"),
    [
        ({"heads": 3}, "dim=8 is no multiple of heads=3"),
        ({"rrwp": 0}, "rrwp is a whole number from 1"),
        ({"orientation": "row"}, "orientation is one of target_row, source_row"),
        ({"attention_dropout": -0.1}, "attention_dropout is a share from 0"),
    ],
)
def test_mistakes_end_in_a_sentence(setting, sentence):
    with pytest.raises(UserError, match=sentence):
        GRIT(SPEC, dim=8, **setting)
