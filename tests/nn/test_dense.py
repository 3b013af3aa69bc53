import math

import pytest
import torch

from gredkit.errors import UserError
from gredkit.nn.dense import GELU, Dense, Embed
from gredkit.nn.positional.degree import Degree
from gredkit.registry import FEATURES


@pytest.mark.parametrize(("std", "expected"), [(None, 1 / math.sqrt(50)), (0.01, 0.01), (0.3, 0.3), (0, 0)])
def test_embeddings_start_with_the_standard_deviation_that_is_asked_for(std, expected):
    torch.manual_seed(0)
    parts = [
        Embed(400, 50, std),
        FEATURES["embedding"]((400,), 50, std=std).embed,
        *FEATURES["categorical"]((400, 300), 50, std=std).embeds,
        Degree(400, 50, std=std).embed,
    ]
    for embed in parts:
        assert embed.weight.std().item() == pytest.approx(expected, rel=0.05)


@pytest.mark.parametrize("std", [-0.01, math.nan, math.inf])
def test_a_standard_deviation_that_makes_no_sense(std):
    with pytest.raises(UserError, match="std is a number, 0 or more, not"):
        Embed(3, 4, std)


def test_dense_layers_have_variance_one_by_fan_in_and_no_bias():
    torch.manual_seed(0)
    dense = Dense(100, 300)
    assert dense.weight.var().item() * 100 == pytest.approx(1, rel=0.05)
    assert not dense.bias.any()


def test_forms_of_gelu():
    assert (GELU().approximate, GELU("erf").approximate, GELU("tanh").approximate) == ("none", "none", "tanh")
