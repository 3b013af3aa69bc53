"""The normalisations that layers may have, by their names."""

from torch import nn

from gredkit import ranges

NORMS: dict[str, type[nn.Module]] = {"batch": nn.BatchNorm1d, "layer": nn.LayerNorm, "none": nn.Identity}


def norm_of(name: str, dim: int) -> nn.Module:
    """'batch' (statistics over all nodes or edges of the batch), 'layer' or 'none'. Shape: [items, dim] -> same"""
    ranges.one_of("norm", name, NORMS)
    return NORMS[name](dim)
