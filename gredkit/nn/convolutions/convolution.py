from __future__ import annotations

from typing import TYPE_CHECKING

from torch import Tensor, nn

from gredkit.nn.convolutions.activation import activation
from gredkit.nn.convolutions.norm import norm_of

if TYPE_CHECKING:
    from gredkit.nn.distances.all_pairs import AllPairs


class ConvolutionLayer(nn.Module):
    """Any convolution of PyTorch Geometric's form, with a norm, an activation, dropout and a residual connection.

    h ← h + drop(act(norm(conv(h, e))));  e stays as it is
    Shape: h [nodes, dim], e [edges, dim] or None -> the same

    conv: a module from (h, edge_index) or, with rows of edges, (h, edge_index, edge_attr=e) to rows of width dim.
    norm: 'batch', 'layer' or 'none'. act: 'relu', 'gelu' or 'elu'. residual: whether h is added to the result.
    dropout: share of what is dropped before h is added.
    """

    def __init__(
        self, conv: nn.Module, dim: int, norm: str = "batch", act: str = "relu", residual: bool = True,
        dropout: float = 0.0,
    ):  # fmt: skip
        super().__init__()
        self.conv, self.norm = conv, norm_of(norm, dim)
        self.act, self.dropout, self.residual = activation(act), nn.Dropout(dropout), residual

    def forward(
        self, h: Tensor, e: Tensor | None, edge_index: Tensor, graphs: AllPairs | None = None
    ) -> tuple[Tensor, Tensor | None]:
        new = self.conv(h, edge_index) if e is None else self.conv(h, edge_index, edge_attr=e)
        new = self.dropout(self.act(self.norm(new)))
        return h + new if self.residual else new, e
