"""The MLP inside GIN and GINE."""

from torch import nn

from gredkit.nn.convolutions.activation import activation
from gredkit.nn.convolutions.norm import BatchNorm
from gredkit.nn.dense import Dense


def gin_mlp(dim: int, act: str = "relu", norm: bool = False) -> nn.Sequential:
    """Dense(act(Dense(x))), perhaps with a batch norm before the activation. Shape: [items, dim] -> [items, dim]"""
    between = [BatchNorm(dim), activation(act)] if norm else [activation(act)]
    return nn.Sequential(Dense(dim, dim), *between, Dense(dim, dim))
