"""Losses of classes. Shape: outputs [items, classes], targets [items], which may be IGNORED -> a scalar"""

import torch
from torch import Tensor
from torch.nn import functional as F

from gredkit.data.objectives import CLASSES, IGNORED
from gredkit.registry import LOSSES


@LOSSES.register("cross_entropy", tasks=CLASSES)
def cross_entropy(outputs: Tensor, targets: Tensor) -> Tensor:
    """The mean cross-entropy over the items that are asked; zero, not NaN, if there is none."""
    return _weighted(outputs, targets, (targets != IGNORED).to(outputs.dtype))


@LOSSES.register("balanced_cross_entropy", tasks=CLASSES)
def balanced_cross_entropy(outputs: Tensor, targets: Tensor) -> Tensor:
    """Cross-entropy in which rare classes of the batch weigh more, as the SBM benchmarks train.

    The weight of a class is the share of the items that belong to other classes.
    """
    asked = (targets != IGNORED).to(outputs.dtype)
    count = outputs.new_zeros(outputs.shape[1]).index_add(0, targets.clamp(min=0), asked)
    weight = torch.where(count == count.sum(), 1.0, (count.sum() - count) / count.sum().clamp(min=1))
    return _weighted(outputs, targets, weight[targets.clamp(min=0)] * asked, weight)


def _weighted(outputs: Tensor, targets: Tensor, each: Tensor, weight: Tensor | None = None) -> Tensor:
    """The weighted mean; `each` is the weight of each item, zero for those that are not asked."""
    total = F.cross_entropy(outputs, targets, weight=weight, reduction="sum", ignore_index=IGNORED)
    return total / each.sum().clamp(min=1e-12)
