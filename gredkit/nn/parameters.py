"""Find the width that gives a model a certain number of parameters."""

from collections.abc import Callable

import psutil
import torch
from torch import nn

from gredkit.errors import UserError


def width_for(build: Callable[[int], nn.Module], wanted: int, largest: int = 4096) -> int:
    """The width whose parameter count is nearest to the wanted one; `build(width)` must grow with the width."""

    def count(width: int) -> int:
        return parameters_of(lambda: build(width))

    low, high = 1, 2
    while high < largest and count(high) < wanted:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if count(middle) < wanted else (low, middle)
    return min((low, high), key=lambda width: abs(count(width) - wanted))


def widths_for(
    build: Callable[[int, int], nn.Module], wanted: int, tolerance: float = 0.01, largest: int = 4096
) -> tuple[int, int]:
    """Width and state width with which `build(width, state_width)` has the wanted number of parameters.

    `tolerance` is the share by which it may differ.

    One step of the width alone changes a small model by more than 1 %. The state width, as near to the width
    as that allows, makes up the difference; a model without a state keeps the nearest width.
    """
    nearest = width_for(lambda width: build(width, width), wanted, largest)
    best, off = (nearest, nearest), float("inf")
    for width in sorted(range(max(nearest - 8, 1), nearest + 9), key=lambda w: abs(w - nearest)):
        state = width_for(lambda state: build(width, state), wanted, largest=2 * width)  # noqa: B023
        miss = abs(parameters_of(lambda: build(width, state)) - wanted) / wanted  # noqa: B023
        if miss < off:
            best, off = (width, state), miss
        if off <= tolerance:
            return best
    raise UserError(
        f"no width gives {wanted:,} parameters within {tolerance:.0%}: the nearest is {best[0]}, off by {off:.1%}"
    )


def check_memory(model: nn.Module) -> None:
    """Raise if this machine has too little memory for a model's weights; it may be on torch's `meta` device."""
    needed = sum(parameter.numel() * parameter.element_size() for parameter in model.parameters())
    if needed > (there := psutil.virtual_memory().total):
        raise UserError(
            f"the model would have {count_parameters(model):,} parameters, {needed / 1e9:,.0f} GB, but this machine "
            f"has {there / 1e9:,.0f} GB of memory: reduce its width or its number of layers"
        )


def parameters_of(build: Callable[[], nn.Module]) -> int:
    """The number of parameters of a model, without allocating them."""
    with torch.device("meta"):
        return count_parameters(build())


def count_parameters(module: nn.Module) -> int:
    """The number of trainable parameters."""
    return sum(p.numel() for p in module.parameters() if p.requires_grad)
