"""The normalisations that layers may have, by their names."""

from torch import Tensor, nn
from torch.nn import functional as F

from gredkit import ranges


class BatchNorm(nn.BatchNorm1d):
    """Batch norm over all nodes or edges of a batch, which takes fewer than two of them too.

    One row has no variance, and none has no mean: for these the running statistics are used, and not changed. (PyTorch
    raises an error for one row, and makes the running statistics NaN for none.)
    Shape: [items, dim] -> [items, dim]
    """

    def forward(self, x: Tensor) -> Tensor:
        if self.training and len(x) < 2:
            return F.batch_norm(x, self.running_mean, self.running_var, self.weight, self.bias, eps=self.eps)
        return super().forward(x)


NORMS: dict[str, type[nn.Module]] = {"batch": BatchNorm, "layer": nn.LayerNorm, "none": nn.Identity}


def norm_of(name: str, dim: int) -> nn.Module:
    """'batch' (statistics over all nodes or edges of the batch), 'layer' or 'none'. Shape: [items, dim] -> same"""
    ranges.one_of("norm", name, NORMS)
    return NORMS[name](dim)
