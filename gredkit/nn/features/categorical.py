import torch
from torch import Tensor, nn

from gredkit import ranges
from gredkit.data.task import Columns
from gredkit.nn.dense import GELU, Dense, Embed
from gredkit.nn.features.base import FeatureEncoder, vocabularies
from gredkit.nn.incidence import Incidence
from gredkit.nn.kernels import known
from gredkit.nn.kernels.usable import can_fuse
from gredkit.registry import FEATURES


@FEATURES.register("categorical")
class Categorical(FeatureEncoder):
    """One embedding per column, summed, then a dense layer: the published encoder for molecules.

    Dense(gelu(Σ_c Embed_c(x_c)))
    Shape: x [items] or [items, columns], integers -> [items, dim]

    gelu: 'erf' (exact) or 'tanh' (as published); None takes the model's
    std: initial standard deviation of the embeddings; None is 1/√dim, the published code has 0.01
    """

    def __init__(self, columns: Columns, dim: int, gelu: str | None = None, std: float | None = None):
        super().__init__()
        ranges.width("dim", dim)
        self.sizes = vocabularies(columns)
        self.embeds = nn.ModuleList(Embed(size, dim, std) for size in self.sizes)
        self.gelu = GELU(gelu)
        self.dense = Dense(dim, dim)

    def forward(self, x: Tensor) -> Tensor:
        by_column = x.reshape(len(x), len(self.embeds)).long().unbind(1)
        if len(by_column) == 1 and self._is_by_symbol(len(x)):  # compute each symbol only once
            symbols = self.dense(self.gelu(self.embeds[0].weight))
            return Incidence.one_a_row(by_column[0], len(symbols)).sum(symbols)
        embedded = [embed(column) for embed, column in zip(self.embeds, by_column, strict=True)]
        return self.dense(self.gelu(torch.stack(embedded).sum(0) if len(embedded) > 1 else embedded[0]))

    def _is_by_symbol(self, items: int) -> bool:
        """Whether there are at most as many symbols as items, and a symbol always gives the same result."""
        parts = (known.EMBEDDING, self.embeds[0]), (known.GELU, self.gelu), (known.DENSE, self.dense)
        return can_fuse() and self.sizes[0] <= items and known.read(*parts) is not None
