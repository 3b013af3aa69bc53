import gin
import pytest

from gredkit import GraphSpec
from gredkit.config import bindings as config
from gredkit.errors import UserError
from gredkit.nn.encoders.lru import LRU
from gredkit.registry import AGGREGATORS, ENCODERS, FEATURES, POSITIONAL

SPEC = GraphSpec(nodes=(5,), outputs=2)


def dense_model():
    spec = GraphSpec(nodes=3, outputs=2)
    return config.composition(spec).build(spec)


@pytest.fixture(autouse=True)
def no_bindings():
    gin.clear_config()
    yield
    gin.clear_config()


def test_gin_configures_what_it_builds_and_nothing_else():
    config.load([], ["encoders.lru.state_dim = 3", "models.gred.dim = 12"])
    model = config.composition(SPEC).build(SPEC)
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
        gin.clear_config()
        config.load([], [f"variant.{part} = '{name}'", "models.gred.dim = 24"])
        model = config.composition(SPEC).build(SPEC)
        built = model.positional if part == "positional" else getattr(model.layers[0], part)
        assert isinstance(built, component)


def test_features_can_be_chosen_in_gin():
    config.load([], ["variant.features = 'embedding'"])
    assert isinstance(config.composition(SPEC).build(SPEC).features, FEATURES["embedding"])
    gin.clear_config()
    assert isinstance(config.composition(SPEC).build(SPEC).features, FEATURES["categorical"])
    assert isinstance(dense_model().features, FEATURES["dense"])


def test_the_same_name_in_two_kinds_is_two_components():
    config.load([], ["encoders.attention.heads = 2", "aggregators.attention.heads = 3"])
    assert config.configured(ENCODERS, "attention")(12).heads == 2
    assert config.configured(AGGREGATORS, "attention")(12).heads == 3


def test_mistakes_are_sentences(tmp_path):
    with pytest.raises(UserError, match="there is no gin file"):
        config.load([str(tmp_path / "missing.gin")])
    with pytest.raises(UserError, match="gin does not know 'nothing'"):
        config.load([], ["nothing.at_all = 1"])
    with pytest.raises(UserError, match="no parameter 'colour'"):
        config.load([], ["encoders.lru.colour = 1"])
    config.load([], ["variant.encoder = 'lsmt'"])
    with pytest.raises(UserError, match="did you mean 'lstm'"):
        config.composition(SPEC).build(SPEC)
