"""Give every variant the same number of parameters."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from math import lcm
from typing import Any

from torch import nn

from gredkit.data.task import GraphSpec
from gredkit.errors import UserError
from gredkit.nn.composition import PARTS, Composition, Part
from gredkit.nn.parameters import width_for, widths_for

WIDTH, STATE, DIVIDE = "dim", "state_dim", ("heads", "towers")  # the settings that matter here


def matched(composition: Composition, spec: GraphSpec, wanted: int) -> list[str]:
    """The bindings of the model's width and of state widths that give about `wanted` parameters.

    The width is a multiple of the number of heads or towers of the model and its parts. If no width is within 1 % of
    the wanted number, the nearest one is used.
    """
    model = composition.model
    dim = model.settings.get(WIDTH)
    if not isinstance(dim, int):
        raise UserError(
            f"study.match_params changes the width of a model, but models.{model.name} has no parameter {WIDTH!r}: "
            f"give it one, or leave the model out"
        )
    every = [part for part in (model, *composition.parts.values()) if part]
    step = lcm(*(part.settings.get(name, 1) for part in every for name in DIVIDE))
    states = {name: (part.settings[STATE] or dim) / dim for name, part in _named(composition) if STATE in part.settings}

    def changed(width: int, state: int) -> dict[str, dict[str, int]]:
        """New settings: the width, and each state width in the same ratio to `state` as before to the width."""
        wider = {name: {STATE: max(round(state * step * ratio), 1)} for name, ratio in states.items()}
        of_model = f"models.{model.name}"
        return wider | {of_model: {**wider.get(of_model, {}), WIDTH: width * step}}

    def build(width: int, state: int) -> nn.Module:
        return _with(composition, changed(max(width, smallest), state)).build(spec)

    # The columns of a positional encoding are part of the width.
    smallest = max(part.settings.get("width", 0) for part in every) // step + 1
    try:
        width, state = widths_for(build, wanted)
    except UserError:
        width = state = max(width_for(lambda w: build(w, max(w, smallest)), wanted), smallest)
    found = changed(max(width, smallest), state)
    return [f"{name}.{key} = {value}" for name, settings in found.items() for key, value in settings.items()]


def _named(composition: Composition) -> Iterator[tuple[str, Part]]:
    """The model and its parts, by their names in gin."""
    yield f"models.{composition.model.name}", composition.model
    for kind, part in composition.parts.items():
        if part:
            yield f"{PARTS[kind].plural}.{part.name}", part


def _with(composition: Composition, settings: Mapping[str, Mapping[str, Any]]) -> Composition:
    """The composition with other settings of some of its parts."""

    def changed(name: str, part: Part) -> Part:
        return replace(part, settings={**part.settings, **settings.get(name, {})})

    parts = {
        kind: part and changed(f"{PARTS[kind].plural}.{part.name}", part) for kind, part in composition.parts.items()
    }
    return replace(composition, model=changed(f"models.{composition.model.name}", composition.model), parts=parts)
