"""Give every variant the same number of parameters."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from math import lcm
from typing import Any

from torch import nn

from gredkit.data.task import GraphSpec
from gredkit.errors import UserError
from gredkit.nn.composition import PARTS, Composition, Part
from gredkit.nn.parameters import parameters_of, width_for, widths_for
from gredkit.registry import MODELS

WIDTH, STATE = "dim", "state_dim"  # the settings that are changed
DIVIDE = ("heads", "towers")  # the settings that divide the width, unless a class names its own in `divide_width`
TOLERANCE = 0.01  # the share by which a number of parameters may differ from the wanted one without a word


@dataclass(frozen=True)
class Match:
    """What gives a model about the wanted number of parameters."""

    bindings: tuple[str, ...]
    parameters: int
    wanted: int
    why: str  # if they differ

    def said(self) -> str:
        """How far off the number is, and why; empty if it is near enough."""
        off = self.parameters / self.wanted - 1
        if abs(off) <= TOLERANCE:
            return ""
        percent = 100 * abs(off)
        how = f"{percent:.{int(percent < 10)}f} % {'more' if off > 0 else 'fewer'}"
        if off >= 1:
            how = f"{self.parameters / self.wanted:.1f} times as many"
        return f"{how} parameters ({self.parameters:,} instead of {self.wanted:,}), because {self.why}"


def matched(composition: Composition, spec: GraphSpec, wanted: int) -> Match:
    """The model's width and its state widths that give about `wanted` parameters.

    The width is a multiple of the number of heads or towers of the model and its parts, or of the settings that a
    class names: `divide_width = ("groups",)`. If no width is within 1 % of the wanted number, the nearest one is used.
    """
    model = composition.model
    dim = model.settings.get(WIDTH)
    if not isinstance(dim, int):
        raise UserError(
            f"study.match_params changes the width of a model, but models.{model.name} has no parameter {WIDTH!r}: "
            f"give it one, or leave the model out"
        )
    every = [part for part in (model, *composition.parts.values()) if part]
    dividing = list(_dividing(composition))
    step = lcm(*(number for _, number in dividing))
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
    why = "no other width comes nearer"
    if width <= smallest:
        why = f"its width is at least {smallest * step}"
    elif step > 1:
        names = dict.fromkeys(name for name, number in dividing if number > 1)
        why = f"its width is a multiple of {step} ({', '.join(names)})"
    return Match(
        tuple(f"{name}.{key} = {value}" for name, settings in found.items() for key, value in settings.items()),
        parameters_of(lambda: build(width, state)),
        wanted,
        why,
    )


def _dividing(composition: Composition) -> Iterator[tuple[str, int]]:
    """The settings that divide the width, of the model and of its parts."""
    registries = {"model": MODELS, **PARTS}
    for kind, part in {"model": composition.model, **composition.parts}.items():
        for name in getattr(registries[kind][part.name], "divide_width", DIVIDE) if part else ():
            if part and name in part.settings:
                yield name, part.settings[name]


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
