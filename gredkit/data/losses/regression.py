"""Losses of numbers. Shape: outputs [items, targets], targets of as many numbers -> a scalar"""

from torch import Tensor
from torch.nn import functional as F

from gredkit import ranges
from gredkit.registry import LOSSES

NUMBERS = ("regression",)


@LOSSES.register("l1", tasks=NUMBERS)
def l1(outputs: Tensor, targets: Tensor) -> Tensor:
    """The mean absolute difference: mean |output - target|."""
    return F.l1_loss(outputs, targets.view_as(outputs))


@LOSSES.register("l2", tasks=NUMBERS)
def l2(outputs: Tensor, targets: Tensor) -> Tensor:
    """The mean squared difference: mean (output - target)²."""
    return F.mse_loss(outputs, targets.view_as(outputs))


@LOSSES.register("huber", tasks=NUMBERS)
class Huber:
    """Squared for small differences and linear for large ones, so that outliers weigh less.

    With e = |output - target|: mean of e²/2 where e ≤ delta, and of delta (e - delta/2) elsewhere.
    """

    def __init__(self, delta: float = 1.0):
        ranges.positive("losses.huber.delta", delta)
        self.delta = delta

    def __call__(self, outputs: Tensor, targets: Tensor) -> Tensor:
        return F.huber_loss(outputs, targets.view_as(outputs), delta=self.delta)
