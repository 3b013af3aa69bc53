import pytest

from gredkit import GraphSpec
from gredkit.config.bindings import load
from gredkit.errors import UserError
from gredkit.nn.composition import PARTS
from gredkit.nn.encoders.lru import LRU
from gredkit.registry import AGGREGATORS, ENCODERS, FEATURES, MODELS, POSITIONAL

SPEC = GraphSpec(nodes=(5,), outputs=2)


DENSE = GraphSpec(nodes=3, outputs=2)


def test_gin_configures_what_it_builds_and_nothing_else():
    model = load([], ["encoders.lru.state_dim = 3", "models.gred.dim = 12"]).composition(SPEC).build(SPEC)
    assert model.dim == 12
    assert {layer.encoder.state_dim for layer in model.layers} == {3}
    assert isinstance(model.layers[0].encoder, LRU)
    assert LRU(12).state_dim == 12
    assert ENCODERS["lru"] is LRU


@pytest.mark.parametrize(
    ("part", "registry"),
    [("encoder", ENCODERS), ("aggregator", AGGREGATORS), ("positional", POSITIONAL)],
)
def test_every_component_can_be_chosen_in_gin(part, registry):
    for name, component in registry.items():
        model = load([], [f"variant.{part} = '{name}'", "models.gred.dim = 24"]).composition(SPEC).build(SPEC)
        built = model.positional if part == "positional" else getattr(model.layers[0], part)
        assert isinstance(built, component)


def test_features_can_be_chosen_in_gin():
    chosen = load([], ["variant.features = 'embedding'"])
    assert isinstance(chosen.composition(SPEC).build(SPEC).features, FEATURES["embedding"])
    assert isinstance(load().composition(SPEC).build(SPEC).features, FEATURES["categorical"])
    assert isinstance(load().composition(DENSE).build(DENSE).features, FEATURES["dense"])


def test_the_same_name_in_two_kinds_is_two_components():
    found = load([], ["encoders.attention.heads = 2", "aggregators.attention.heads = 3"])
    assert found.component(ENCODERS, "attention")(12).heads == 2
    assert found.component(AGGREGATORS, "attention")(12).heads == 3


def test_mistakes_are_sentences(tmp_path):
    with pytest.raises(UserError, match="there is no gin file"):
        load([str(tmp_path / "missing.gin")])
    with pytest.raises(UserError, match="gin does not know 'nothing'"):
        load([], ["nothing.at_all = 1"])
    with pytest.raises(UserError, match="no parameter 'colour'"):
        load([], ["encoders.lru.colour = 1"])
    misspelt = load([], ["variant.encoder = 'lsmt'"])
    with pytest.raises(UserError, match="did you mean 'lstm'"):
        misspelt.composition(SPEC)


def test_what_was_loaded_stays_when_something_else_is_loaded():
    first = load([], ["DIM = 12"])
    load([], ["DIM = 20"])
    assert first.composition(SPEC).build(SPEC).dim == 12


@pytest.mark.parametrize("name", MODELS)
def test_knobs_reach_every_model_that_has_such_a_parameter(name):
    told = {"layers": 3, "dim": 24, "dropout": 0.25, "state_dim": 5, "readout": "mean", "head_layers": 1}
    found = load([], [f"{knob.upper()} = {value!r}" for knob, value in told.items()]).settings(MODELS, name)
    assert {knob: found[knob] for knob in told if knob in found} == {k: v for k, v in told.items() if k in found}
    assert {"layers", "dim"} <= found.keys()


@pytest.mark.parametrize("name", ENCODERS)
def test_the_width_of_states_and_dropout_reach_every_encoder_that_has_them(name):
    found = load([], ["STATE_DIM = 5", "DROPOUT = 0.25", "LAYERS = 7"]).settings(ENCODERS, name)
    assert found.get("state_dim", 5) == 5
    assert found.get("dropout", 0.25) == 0.25
    assert 7 not in found.values()


def test_a_binding_of_a_component_wins_over_a_knob_and_a_knob_that_is_none_leaves_the_default():
    assert load([], ["DIM = 24", "models.gps.dim = 8"]).settings(MODELS, "gps")["dim"] == 8
    assert load([], ["models.gps.dim = 8", "DIM = 24"]).settings(MODELS, "gps")["dim"] == 8
    assert load().settings(ENCODERS, "lstm")["state_dim"] is None


def test_a_model_gets_the_parts_that_its_constructor_asks_for():
    composition = load([], ["variant.model = 'gin'", "variant.encoder = 'lstm'"]).composition(SPEC)
    assert set(composition.parts) == {"features", "edge_features", "positional"}
    assert set(load().composition(SPEC).parts) == set(PARTS)


def test_what_is_registered_after_a_first_load_is_known_to_the_next(monkeypatch):
    load()

    class Late(LRU):
        """An encoder of a later cell of a notebook."""

    monkeypatch.setitem(ENCODERS._entries, "registered_late", Late)
    chosen = load([], ["variant.encoder = 'registered_late'", "encoders.registered_late.state_dim = 3"])
    encoder = chosen.composition(SPEC).build(SPEC).layers[0].encoder
    assert isinstance(encoder, Late)
    assert encoder.state_dim == 3
