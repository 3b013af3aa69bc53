"""Dense layers with the published initialisation, embeddings, and the two forms of gelu."""

import math

import torch
from torch import Tensor, nn

from gredkit import ranges
from gredkit.nn.kernels.known import known

TRUNCATED_STD = 0.87962566103423978  # standard deviation of a standard normal truncated at ±2


@torch.no_grad()
def scaled_normal_(weight: Tensor, variance: float) -> Tensor:
    """Fill with a normal distribution of the given variance, truncated at two standard deviations."""
    std = math.sqrt(variance) / TRUNCATED_STD
    return nn.init.trunc_normal_(weight, std=std, a=-2 * std, b=2 * std)


@known
class Dense(nn.Linear):
    """Linear layer with weights of variance 1 / fan_in and zero bias. Shape: [..., in] -> [..., out]"""

    def reset_parameters(self) -> None:
        scaled_normal_(self.weight, 1 / max(self.in_features, 1))
        if self.bias is not None:
            nn.init.zeros_(self.bias)


@known
class Embed(nn.Embedding):
    """Embedding with normally distributed weights. Shape: [...] -> [..., dim]

    size: number of symbols
    std: initial standard deviation; None is 1/√dim (rows of length about 1), the published code has 0.01
    """

    def __init__(self, size: int, dim: int, std: float | None = None):
        if std is not None:
            ranges.not_negative("std", std)
        self.std = std
        super().__init__(size, dim)

    def reset_parameters(self) -> None:
        nn.init.normal_(self.weight, std=1 / math.sqrt(self.embedding_dim) if self.std is None else self.std)


@known
class GELU(nn.GELU):
    """gelu in its exact form ('erf' or None) or as in the published code ('tanh')."""

    def __init__(self, form: str | None = None):
        if form is not None:
            ranges.one_of("gelu", form, ("erf", "tanh"))
        super().__init__(approximate="tanh" if form == "tanh" else "none")


def gelu_mlp(inputs: int, hidden: int, outputs: int, gelu: str | None) -> nn.Sequential:
    """Dense(gelu(Dense(x)))."""
    return nn.Sequential(Dense(inputs, hidden), GELU(gelu), Dense(hidden, outputs))


def dtype_of(module: nn.Module) -> torch.dtype:
    """The dtype of a module's parameters; torch's default dtype if it has none."""
    return next((parameter.dtype for parameter in module.parameters()), torch.get_default_dtype())
