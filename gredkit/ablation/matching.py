"""The same number of parameters for every variant."""

from dataclasses import replace
from math import lcm

from torch import nn

from gredkit.data.task import GraphSpec
from gredkit.errors import UserError
from gredkit.nn.composition import Composition
from gredkit.nn.parameters import width_for, widths_for


def matched(composition: Composition, spec: GraphSpec, budget: int) -> list[str]:
    """The bindings of the width, and of the state's where there is one, with so many parameters.

    Attention needs a width that its heads divide; where no width comes within a hundredth of the budget, the
    nearest is taken.
    """
    parts = {kind: part for kind, part in composition.parts.items() if part}
    step = lcm(*(part.settings.get("heads", 1) for part in parts.values()))
    encoder = parts["encoder"]
    has_state = "state_dim" in encoder.settings
    dim = composition.model.settings["dim"]
    ratio = (encoder.settings.get("state_dim") or dim) / dim

    def state_of(width: int) -> int:
        """As wide beside the width as it was."""
        return max(round(width * step * ratio), 1)

    def build(width: int, state: int) -> nn.Module:
        changed = {"state_dim": state_of(state)} if has_state else {}
        reader = replace(encoder, settings={**encoder.settings, **changed})
        model = replace(composition.model, settings={**composition.model.settings, "dim": width * step})
        return replace(composition, model=model, parts={**composition.parts, "encoder": reader}).build(spec)

    smallest = max(part.settings.get("width", 0) for part in parts.values()) // step + 1  # a positional encoding's
    try:
        width, state = widths_for(lambda w, s: build(max(w, smallest), s), budget)
    except UserError:
        width = state = max(width_for(lambda w: build(max(w, smallest), max(w, smallest)), budget), smallest)
    bindings = [f"models.{composition.model.name}.dim = {width * step}"]
    return [*bindings, f"encoders.{encoder.name}.state_dim = {state_of(state)}"] if has_state else bindings
