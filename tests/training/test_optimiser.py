from dataclasses import replace
from functools import partial

import pytest
import torch
from torch import nn

from gredkit import GRED
from gredkit.data.task import GraphSpec
from gredkit.nn.encoders.lru import LRU
from gredkit.registry import AGGREGATORS, ENCODERS, FEATURES, POSITIONAL
from gredkit.training.optimiser import make_optimiser, parameter_groups, set_rate
from gredkit.training.recipe import Recipe

SPEC = GraphSpec(nodes=(5,), outputs=2, edges=(3,))
RECIPE = Recipe(learning_rate=0.01, weight_decay=0.3, recurrent_factor=0.25)


def by_name(model, recipe=RECIPE):
    """The group of each parameter; a parameter that is in two, or in none, fails."""
    names = {parameter: name for name, parameter in model.named_parameters()}
    found = [(names[p], group) for group in parameter_groups(model, recipe) for p in group["params"]]
    assert sorted(name for name, _ in found) == sorted(names.values())
    return dict(found)


RECURRENT = {
    "attention": (),
    "gla": ("decay_down.weight", "decay_up.weight", "decay_bias"),
    "gru": ("rnn.weight_ih_l0", "rnn.weight_hh_l0"),
    "lru": ("nu_log", "theta_log", "gamma_log", "in_re", "in_im"),
    "lstm": ("rnn.weight_ih_l0", "rnn.weight_hh_l0"),
    "mamba": ("log_decay", "step_down.weight", "step_up.weight", "step_up.bias", "input.weight"),
    "mean": (),
    "mingru": ("update.weight", "candidate.weight"),
    "retention": (),
    "rg_lru": ("decay", "into.weight", "recurrence_gate.weight", "input_gate.weight"),
    "rnn": ("rnn.weight_ih_l0", "rnn.weight_hh_l0"),
    "s4d": ("log_dt", "log_decay", "frequency"),
    "weighted_sum": (),
}
ONE_NUMBER_EACH = ("encoder.weight", "encoder.skip")  # for every hop, or every channel


def is_recurrent(name):
    """By the names that the modules of gredkit and torch give to their parameters."""
    return any(name.endswith(f".encoder.{one}") for names in RECURRENT.values() for one in names)


def expected_decay(name):
    last = name.rpartition(".")[2]
    undecayed = "bias" in last or "norm" in name or "embed" in name or is_recurrent(name)
    return 0.0 if undecayed else 0.3


@pytest.mark.parametrize("encoder", ENCODERS)
def test_every_parameter_of_every_encoder_is_in_one_group(encoder):
    groups = by_name(GRED(SPEC, dim=8, layers=2, encoder=encoder, edge_features="categorical"))
    for name, group in groups.items():
        if not name.endswith(ONE_NUMBER_EACH):
            assert group["weight_decay"] == expected_decay(name), name
        assert group["factor"] == (0.25 if is_recurrent(name) else 1)
        assert group["lr"] == 0.01 * group["factor"]
    assert {group["weight_decay"] for group in groups.values()} == {0.0, 0.3}
    recurrent = {name for name, group in groups.items() if group["factor"] == 0.25}
    assert recurrent == {f"layers.{i}.encoder.{one}" for i in range(2) for one in RECURRENT[encoder]}


@pytest.mark.parametrize("aggregator", AGGREGATORS)
@pytest.mark.parametrize("positional", POSITIONAL)
def test_every_parameter_of_every_aggregator_and_positional_encoding_is_in_one_group(aggregator, positional):
    groups = by_name(GRED(SPEC, dim=40, layers=1, aggregator=aggregator, positional=positional))
    assert all(group["weight_decay"] == expected_decay(name) for name, group in groups.items())


@pytest.mark.parametrize("features", FEATURES)
def test_every_parameter_of_every_feature_encoder_is_in_one_group(features):
    spec = GraphSpec(nodes=3 if features == "dense" else (5,), outputs=2)
    groups = by_name(GRED(spec, dim=8, layers=1, features=features))
    assert all(group["weight_decay"] == expected_decay(name) for name, group in groups.items())


def test_embeddings_without_a_telling_name_and_tied_weights():
    model = nn.Sequential(nn.Embedding(4, 3), nn.EmbeddingBag(4, 3), nn.Linear(3, 4, bias=False), nn.Linear(3, 4))
    model[2].weight = model[0].weight
    assert {name: group["weight_decay"] for name, group in by_name(model).items()} == {
        "0.weight": 0,
        "1.weight": 0,
        "3.weight": 0.3,
        "3.bias": 0,
    }


def test_set_rate_keeps_the_factor():
    optimiser = make_optimiser(GRED(SPEC, dim=8, layers=1), RECIPE)
    set_rate(optimiser, 0.5)
    assert [group["lr"] for group in optimiser.param_groups] == [0.5, 0.5, 0.125]


def adamw_by_hand(p, gradients, rates, decay):
    """Loshchilov and Hutter's algorithm 2, with the usual betas and epsilon."""
    m, v = torch.zeros_like(p), torch.zeros_like(p)
    for t, (g, rate) in enumerate(zip(gradients, rates, strict=True), 1):
        m = 0.9 * m + 0.1 * g
        v = 0.999 * v + 0.001 * g * g
        p = p - rate * decay * p - rate * (m / (1 - 0.9**t)) / ((v / (1 - 0.999**t)).sqrt() + 1e-8)
    return p


def adam_by_hand(p, gradients, rates, decay):
    """Kingma and Ba's algorithm 1; the decay is a part of the gradient."""
    m, v = torch.zeros_like(p), torch.zeros_like(p)
    for t, (g, rate) in enumerate(zip(gradients, rates, strict=True), 1):
        g = g + decay * p
        m = 0.9 * m + 0.1 * g
        v = 0.999 * v + 0.001 * g * g
        p = p - rate * (m / (1 - 0.9**t)) / ((v / (1 - 0.999**t)).sqrt() + 1e-8)
    return p


@pytest.mark.parametrize("by_hand", [adamw_by_hand, adam_by_hand])
@pytest.mark.parametrize("encoder", [partial(LRU, mode="kernel"), "gru"], ids=["lru", "gru"])
def test_steps_by_hand(encoder, by_hand):
    torch.manual_seed(0)
    model = GRED(SPEC, dim=8, layers=1, encoder=encoder).double()
    optimiser = make_optimiser(model, replace(RECIPE, optimizer=by_hand.__name__.removesuffix("_by_hand")))
    rates = [0.1, 0.3, 0.05]
    gradients = {name: [torch.randn_like(p) for _ in rates] for name, p in model.named_parameters()}
    start = {name: p.detach().clone() for name, p in model.named_parameters()}
    for i, rate in enumerate(rates):
        set_rate(optimiser, rate)
        for name, p in model.named_parameters():
            p.grad = gradients[name][i]
        optimiser.step()
    for name, p in model.named_parameters():
        factor = 0.25 if is_recurrent(name) else 1.0
        expected = by_hand(start[name], gradients[name], [r * factor for r in rates], expected_decay(name))
        torch.testing.assert_close(p.detach(), expected, rtol=1e-12, atol=1e-12)


def test_complex_parameters_are_trained_too():
    model = nn.Module()
    model.eigenvalues = nn.Parameter(torch.ones(2, 2, dtype=torch.complex64))
    optimiser = make_optimiser(model, Recipe(learning_rate=0.1, weight_decay=0))
    model.eigenvalues.abs().sum().backward()
    optimiser.step()
    torch.testing.assert_close(model.eigenvalues.detach().real, torch.full((2, 2), 0.9))
