"""How the recurrent encoders start: what the docs say of them, measured."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from gredkit.errors import UserError
from gredkit.nn.encoders.attention import Attention
from gredkit.nn.encoders.gru import GRU
from gredkit.nn.encoders.lstm import LSTM
from gredkit.nn.encoders.mean import Mean
from gredkit.nn.encoders.rnn import RNN
from gredkit.nn.encoders.weighted_sum import WeightedSum

KINDS = {"rnn": (RNN, 1), "lstm": (LSTM, 4), "gru": (GRU, 3)}
every_kind = pytest.mark.parametrize("kind", KINDS)


def built(kind, dim=48, seed=0, **settings):
    torch.manual_seed(seed)
    encoder, gates = KINDS[kind]
    return encoder(dim, **settings).rnn, gates


def weights(rnn, name):
    return [getattr(rnn, f"{name}_l{layer}").detach().double() for layer in range(rnn.num_layers)]


@settings(max_examples=30, deadline=None)
@given(
    kind=st.sampled_from(list(KINDS)),
    dim=st.integers(1, 40),
    state_dim=st.integers(1, 40),
    layers=st.integers(1, 2),
    seed=st.integers(0, 9),
)
def test_every_gate_is_orthogonal_and_biases_are_zero_but_one(kind, dim, state_dim, layers, seed):
    rnn, gates = built(kind, dim, seed, state_dim=state_dim, stacked_layers=layers)
    for weight in weights(rnn, "weight_hh"):
        for gate in weight.chunk(gates):
            assert torch.allclose(gate @ gate.T, torch.eye(state_dim).double(), atol=1e-5)
            assert torch.linalg.eigvals(gate).abs().max().item() == pytest.approx(1, abs=1e-5)
    for into, within in zip(weights(rnn, "bias_ih"), weights(rnn, "bias_hh"), strict=True):
        total = (into + within).view(gates, state_dim)  # what PyTorch's cells add
        expected = torch.zeros_like(total)
        if gates > 1:
            expected[1] = 1  # of input, forget, cell, output; of reset, update, new
        assert torch.equal(total, expected)


@pytest.mark.parametrize("kind", ["lstm", "gru"])
def test_the_bias_is_that_of_the_gate_that_keeps_the_state(kind):
    """Pushed far up, it makes a cell keep whatever its state is: the order of PyTorch's gates is as we think."""
    encoder, gates = KINDS[kind]
    rnn = encoder(5).rnn
    with torch.no_grad():
        rnn.bias_ih_l0.view(gates, 5)[encoder.keeps] += 100
        if kind == "lstm":
            rnn.bias_ih_l0.view(gates, 5)[0] -= 100  # nothing comes in
    start = torch.randn(1, 1, 5)
    state = (torch.zeros(1, 1, 5), start) if kind == "lstm" else start
    _, end = rnn(torch.randn(7, 1, 5), state)
    torch.testing.assert_close(end[1] if kind == "lstm" else end, start)


@every_kind
def test_inputs_have_the_variance_of_a_dense_layer(kind):
    rnn, _ = built(kind, 64, state_dim=128, stacked_layers=2)
    for weight, fan_in in zip(weights(rnn, "weight_ih"), (64, 128), strict=True):
        assert weight.var().item() * fan_in == pytest.approx(1, rel=0.05)
        assert weight.abs().max().item() < 2.3 / math.sqrt(fan_in)  # cut off at two standard deviations
        assert weight.mean().item() == pytest.approx(0, abs=0.01)


@every_kind
def test_pytorchs_own_is_an_option(kind):
    rnn, gates = built(kind, init="pytorch")
    torch.manual_seed(0)
    plain = {"rnn": nn.RNN, "lstm": nn.LSTM, "gru": nn.GRU}[kind](48, 48)
    assert all(torch.equal(a, b) for a, b in zip(rnn.parameters(), plain.parameters(), strict=True))
    for gate in weights(rnn, "weight_hh")[0].chunk(gates):
        assert 0.45 < torch.linalg.eigvals(gate).abs().max().item() < 0.75


@every_kind
def test_an_unknown_init(kind):
    with pytest.raises(UserError, match="init is one of orthogonal, pytorch, not 'xavier'"):
        built(kind, init="xavier")


@every_kind
def test_a_model_without_numbers_can_be_counted(kind):
    with torch.device("meta"):
        rnn, _ = built(kind)
    assert {parameter.device.type for parameter in rnn.parameters()} == {"meta"}


@pytest.mark.parametrize("encoder", [Attention, Mean, WeightedSum])
def test_the_others_have_the_same_output_projection(encoder):
    torch.manual_seed(0)
    made = encoder(64)
    assert made.out.weight.shape == (64, 64)
    assert made.out.weight.var().item() * 64 == pytest.approx(1, rel=0.1)
    assert not made.out.bias.any()


def test_scores_of_attention_start_with_variance_one():
    torch.manual_seed(0)
    attention, z = Attention(64), torch.randn(2000, 64)
    query, key = (part(z).unflatten(1, (8, 8)) for part in (attention.query, attention.key))
    score = torch.einsum("nhd,mhd->hnm", query, key) / math.sqrt(8)
    assert score.var().item() == pytest.approx(1, rel=0.2)
