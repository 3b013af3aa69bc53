import pytest
import torch
from torch_geometric.data import Batch, Data

from gredkit import GREDLayer, HopIndex, add_hops
from gredkit.nn.layer import GLU, SetMLP

PATH = torch.tensor([[0, 1, 2, 3], [1, 2, 3, 4]])


def hop_index(K: int | None = None) -> HopIndex:
    return HopIndex.of(Batch.from_data_list([add_hops(Data(edge_index=PATH, num_nodes=5), K)]))


def test_glu_forms():
    y = torch.randn(4, 6)
    full, half = GLU(6), GLU(6, "half")
    assert torch.equal(full(y), full.value(y) * torch.sigmoid(full.gate(y)))
    assert torch.equal(half(y), y * torch.sigmoid(half.gate(y)))
    with pytest.raises(ValueError, match="glu is one of full, half, not 'quarter'"):
        GLU(6, "quarter")


def test_set_mlp_widens_and_keeps_a_residual():
    mlp = SetMLP(6, expand=3)
    assert mlp.up.out_features == 18
    torch.nn.init.zeros_(mlp.down.weight)
    a = torch.randn(4, 6)
    assert torch.equal(mlp(a), a)


def test_gelu_forms_differ_a_little():
    torch.manual_seed(0)
    exact = GREDLayer(8, gelu="erf")
    approximate = GREDLayer(8, gelu="tanh")
    approximate.load_state_dict(exact.state_dict())
    h, hops = torch.randn(5, 8), hop_index()
    difference = (exact(h, hops) - approximate(h, hops)).abs().max()
    assert 0 < difference < 1e-2
    with pytest.raises(ValueError, match="gelu is one of erf, tanh"):
        GREDLayer(8, gelu="relu")


def test_dropout_acts_while_training_only():
    layer = GREDLayer(8, dropout=0.5)
    h, hops = torch.randn(5, 8), hop_index()
    assert not torch.equal(layer(h, hops), layer(h, hops))
    layer.eval()
    assert torch.equal(layer(h, hops), layer(h, hops))
    assert sum(isinstance(m, torch.nn.Dropout) for m in layer.mlp.modules()) == 0  # none inside MLP2, as published


def test_empty_hops_are_read_or_not():
    torch.manual_seed(0)
    constant = GREDLayer(8)
    torch.nn.init.normal_(constant.norm.bias)  # at first the row of the empty set is zero
    zero = GREDLayer(8, empty_hops="zero")
    zero.load_state_dict(constant.state_dict())
    h = torch.randn(5, 8)
    # On a path of five every node has somebody at distance 2.
    assert torch.allclose(constant(h, hop_index(2)), zero(h, hop_index(2)))
    beyond = constant(h, hop_index(9))
    assert (beyond - constant(h, hop_index(4))).abs().max() > 1e-3  # K beyond the diameter adds constants
    assert torch.equal(zero(h, hop_index(9)), zero(h, hop_index(4)))
    with pytest.raises(ValueError, match="empty_hops is one of constant, zero"):
        GREDLayer(8, empty_hops="skip")
