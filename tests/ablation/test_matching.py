"""Widths that give a model the wanted number of parameters, counted in the model that is built with them."""

import pytest
import torch
from torch import nn

from gredkit.ablation.matching import matched
from gredkit.data.task import GraphSpec
from gredkit.errors import UserError
from gredkit.nn.composition import Composition, Part
from gredkit.nn.parameters import count_parameters
from gredkit.registry import MODELS

SPEC = GraphSpec(nodes=(5,), outputs=3)


def gred(encoder="lru", encoder_settings=None, positional=None, **settings):
    settings = {"dim": 32, "layers": 2, **settings}
    parts = {
        "features": Part("categorical", {}),
        "edge_features": None,
        "positional": positional or Part("none", {}),
        "aggregator": Part("sum", {}),
        "encoder": Part(encoder, encoder_settings or {}),
    }
    return Composition(Part("gred", settings), parts)


def built(composition, bindings):
    """The model with these bindings, applied by hand."""
    stored = composition.to_dict()
    owners = {f"models.{composition.model.name}": stored["model"]}
    owners |= {f"encoders.{stored['encoder']['name']}": stored["encoder"]} if stored.get("encoder") else {}
    for binding in bindings:
        name, _, value = binding.partition(" = ")
        owner, _, key = name.rpartition(".")
        owners[owner]["settings"][key] = int(value)
    return Composition.from_dict(stored).build(SPEC)


@pytest.mark.parametrize("wanted", [3_000, 20_000, 100_000])
@pytest.mark.parametrize("encoder", ["lru", "gru"])
def test_a_model_with_a_state_has_the_wanted_number_within_a_hundredth(encoder, wanted):
    composition = gred(encoder, {"state_dim": None})
    bindings = matched(composition, SPEC, wanted).bindings
    assert count_parameters(built(composition, bindings)) == pytest.approx(wanted, rel=0.01)
    assert {binding.partition(" = ")[0] for binding in bindings} == {"models.gred.dim", f"encoders.{encoder}.state_dim"}


def test_without_a_state_no_other_width_is_nearer():
    composition = gred("mean")
    (binding,) = matched(composition, SPEC, 20_000).bindings
    width = int(binding.removeprefix("models.gred.dim = "))
    off = {w: abs(count_parameters(built(composition, [f"models.gred.dim = {w}"])) - 20_000) for w in range(1, 120)}
    assert off[width] == min(off.values())


def test_the_width_is_a_multiple_of_the_heads():
    composition = gred("attention", {"heads": 6})
    (binding,) = matched(composition, SPEC, 20_000).bindings
    width = int(binding.removeprefix("models.gred.dim = "))
    assert width % 6 == 0
    counts = {
        w: count_parameters(built(composition, [f"models.gred.dim = {w}"])) for w in (width - 6, width, width + 6)
    }
    assert counts[width - 6] < 20_000 < counts[width + 6]


def test_a_state_keeps_its_share_of_the_width():
    composition = gred("lru", {"state_dim": 16}, dim=64)
    found = dict(binding.split(" = ") for binding in matched(composition, SPEC, 50_000).bindings)
    width, state = int(found["models.gred.dim"]), int(found["encoders.lru.state_dim"])
    assert state / width == pytest.approx(16 / 64, rel=0.25)


def test_there_is_room_for_the_columns_of_a_positional_encoding():
    composition = gred("mean", positional=Part("rwse", {"steps": 4, "width": 20}))
    (binding,) = matched(composition, SPEC, 100).bindings  # far fewer than even the smallest model has
    assert int(binding.removeprefix("models.gred.dim = ")) > 20


def test_a_model_without_a_width_is_named():
    with pytest.raises(UserError, match=r"models\.gred has no parameter 'dim'"):
        matched(gred(dim=None), SPEC, 1000)


@pytest.mark.parametrize(
    ("composition", "wanted", "said"),
    [
        (gred("lru", {"state_dim": None}), 20_000, ""),
        (gred("attention", {"heads": 16}), 19_523, ""),
        (gred("mean"), 2_000, "3.4 % more parameters (2,067 instead of 2,000), because no other width comes nearer"),
        (
            gred("attention", {"heads": 16}),
            23_000,
            "15 % fewer parameters (19,523 instead of 23,000), because its width is a multiple of 16 (heads)",
        ),
        (
            gred("mean", positional=Part("rwse", {"steps": 4, "width": 20})),
            100,
            "58.4 times as many parameters (5,843 instead of 100), because its width is at least 21",
        ),
    ],
)
def test_who_is_off_and_why(composition, wanted, said):
    match = matched(composition, SPEC, wanted)
    assert match.said() == said
    assert match.parameters == count_parameters(built(composition, match.bindings))


class InGroups(nn.Module):
    """A model of a user, whose groups divide its width."""

    divide_width = ("groups",)

    def __init__(self, spec, dim=8, groups=8, heads=7):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(dim // groups * groups, dim))


def test_a_model_names_the_settings_that_divide_its_width(monkeypatch):
    monkeypatch.setattr(MODELS, "_entries", dict(MODELS))  # the model is forgotten after the test
    MODELS.register("in_groups")(InGroups)
    match = matched(Composition(Part("in_groups", {"dim": 8, "groups": 12, "heads": 7}), {}), SPEC, 10_000)
    assert match.bindings == ("models.in_groups.dim = 96",)
    assert match.said().endswith("because its width is a multiple of 12 (groups)")
