from __future__ import annotations

from typing import TYPE_CHECKING

from torch import Tensor, nn

from gredkit.nn.convolutions.feed_forward import FeedForward
from gredkit.nn.convolutions.norm import norm_of

if TYPE_CHECKING:
    from gredkit.nn.distances.all_pairs import AllPairs


class GPSLayer(nn.Module):
    """Message passing beside attention over all nodes of the same graph, then two dense layers.

    l, e ← local(h, e);  a = norm(h + drop(attention(h)));  h ← norm(u + drop(W2 drop(act(W1 u)))),  u = norm(l) + a
    for a `local` that adds its own h, as all layers here do (Rampášek et al., NeurIPS 2022, and its code GraphGPS).
    Shape: h [nodes, dim], e [edges, dim] or None, graphs -> h, e

    local: a layer of this folder, with its residual connection. heads: attention heads. norm: 'batch', 'layer' or
    'none'. act: 'relu' or 'gelu'. dropout: share of what is dropped in each block. attention_dropout: share of
    attention weights that is dropped.
    """

    def __init__(
        self, dim: int, local: nn.Module, heads: int = 4, norm: str = "batch", act: str = "relu", dropout: float = 0.0,
        attention_dropout: float = 0.0,
    ):  # fmt: skip
        super().__init__()
        self.local, self.local_norm = local, norm_of(norm, dim)
        self.attention = nn.MultiheadAttention(dim, heads, attention_dropout, batch_first=True)
        self.attention_norm, self.dropout = norm_of(norm, dim), nn.Dropout(dropout)
        self.feed_forward = FeedForward(dim, act, dropout, norm, first_norm=False)

    def forward(
        self, h: Tensor, e: Tensor | None, edge_index: Tensor, graphs: AllPairs
    ) -> tuple[Tensor, Tensor | None]:
        near, e = self.local(h, e, edge_index, graphs)
        rows = graphs.padded(h)
        far, _ = self.attention(rows, rows, rows, key_padding_mask=graphs.is_padding, need_weights=False)
        far = h + self.dropout(far.flatten(0, 1).index_select(0, graphs.rows))
        return self.feed_forward(self.local_norm(near) + self.attention_norm(far)), e
