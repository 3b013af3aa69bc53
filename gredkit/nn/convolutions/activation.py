"""The activations that layers may have, by their names."""

from torch import nn

from gredkit import ranges

ACTIVATIONS: dict[str, type[nn.Module]] = {"relu": nn.ReLU, "gelu": nn.GELU, "elu": nn.ELU, "none": nn.Identity}


def activation(name: str) -> nn.Module:
    """'relu', 'gelu' (the exact one), 'elu' or 'none'."""
    ranges.one_of("act", name, ACTIVATIONS)
    return ACTIVATIONS[name]()
