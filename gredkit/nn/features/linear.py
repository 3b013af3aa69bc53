import torch
from torch import Tensor, nn

from gredkit import ranges
from gredkit.data.task import Columns
from gredkit.nn.dense import Dense, Embed, dtype_of
from gredkit.nn.features.base import FeatureEncoder
from gredkit.registry import FEATURES


@FEATURES.register("linear")
class Linear(FeatureEncoder):
    """One dense layer and nothing else: of real-valued columns, or of categories as one-hot rows.

    W x + b;  of categories Σ_c Embed_c(x_c) + b, which is the same with x as one-hot rows
    Shape: x [items] or [items, columns] -> [items, dim]
    """

    def __init__(self, columns: Columns, dim: int):
        super().__init__()
        ranges.width("dim", dim)
        self.columns = columns
        self.dense, self.embeds, self.bias = None, None, None
        if isinstance(columns, int):
            self.dense = Dense(columns, dim)
        else:
            self.embeds = nn.ModuleList(Embed(size, dim) for size in columns)
            self.bias = nn.Parameter(torch.zeros(dim))

    def forward(self, x: Tensor) -> Tensor:
        if self.dense is not None:
            return self.dense(x.reshape(len(x), self.dense.in_features).to(dtype_of(self.dense)))
        assert self.embeds is not None
        assert self.bias is not None
        by_column = x.reshape(len(x), len(self.embeds)).long().unbind(1)
        embedded = [embed(column) for embed, column in zip(self.embeds, by_column, strict=True)]
        return torch.stack(embedded).sum(0) + self.bias
