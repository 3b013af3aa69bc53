"""Losses of several labels. Shape: outputs [items, labels], targets 0, 1 or NaN where unknown -> a scalar"""

from torch import Tensor
from torch.nn import functional as F

from gredkit.registry import LOSSES


@LOSSES.register("binary_cross_entropy", tasks=("labels",))
def binary_cross_entropy(outputs: Tensor, targets: Tensor) -> Tensor:
    """The mean binary cross-entropy over the labels that are known; unknown ones (NaN) are left out."""
    targets = targets.view_as(outputs)
    known = ~targets.isnan()
    loss = F.binary_cross_entropy_with_logits(outputs, targets.nan_to_num(), reduction="none")
    return (loss * known).sum() / known.sum().clamp(min=1)
