"""Dense layers and embeddings with the published initialisation."""

import math

import torch
from torch import Tensor, nn

from gredkit import ranges
from gredkit.kernels.known import known

TRUNCATED_STD = 0.87962566103423978  # of a standard normal cut off at two standard deviations


@torch.no_grad()
def scaled_normal_(weight: Tensor, variance: float) -> Tensor:
    """Fill with a normal distribution cut off at two standard deviations, of the given variance."""
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
    """Embedding with weights of variance 1 / dim. Shape: [...] -> [..., dim]"""

    def reset_parameters(self) -> None:
        nn.init.normal_(self.weight, std=1 / math.sqrt(self.embedding_dim))


@known
class GELU(nn.GELU):
    """gelu, exact (`erf`) or as published (`tanh`)."""

    def __init__(self, form: str = "erf"):
        ranges.one_of("gelu", form, ("erf", "tanh"))
        super().__init__(approximate="tanh" if form == "tanh" else "none")


def gelu_mlp(inputs: int, hidden: int, outputs: int, gelu: str) -> nn.Sequential:
    """Dense(gelu(Dense(x)))."""
    return nn.Sequential(Dense(inputs, hidden), GELU(gelu), Dense(hidden, outputs))
