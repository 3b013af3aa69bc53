from torch import Tensor, nn
from torch.nn import functional as F


class GraphormerLayer(nn.Module):
    """Attention with a bias for each pair of nodes, and an MLP; both normalise first.

    h ← h + drop(MHA(LN(h); scores + b));  h ← h + drop(W_2 drop(gelu(W_1 LN(h))))
    Ying et al., NeurIPS 2021, as in GraphGPS: all widths are the same.
    Shape: h [graphs, nodes, dim], bias [graphs, heads, nodes, nodes] -> [graphs, nodes, dim]

    heads: attention heads, which divide dim. dropout: share of what each of the two adds. attention_dropout: share of
    the attention weights. mlp_dropout: share of the MLP's hidden values.
    """

    def __init__(
        self, dim: int, heads: int, dropout: float = 0.0, attention_dropout: float = 0.0, mlp_dropout: float = 0.0
    ):
        super().__init__()
        self.heads, self.attention_dropout = heads, attention_dropout
        self.norm, self.projection, self.out = nn.LayerNorm(dim), nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)
        nn.init.xavier_uniform_(self.projection.weight)  # as PyTorch's own attention begins
        nn.init.zeros_(self.projection.bias)
        nn.init.zeros_(self.out.bias)
        self.mlp = nn.Sequential(
            nn.LayerNorm(dim), nn.Linear(dim, dim), nn.GELU(), nn.Dropout(mlp_dropout), nn.Linear(dim, dim)
        )
        self.dropout = nn.Dropout(dropout)

    def forward(self, h: Tensor, bias: Tensor) -> Tensor:
        by_head = self.projection(self.norm(h)).unflatten(2, (3, self.heads, -1))  # [graphs, nodes, 3, heads, width]
        query, key, value = by_head.permute(2, 0, 3, 1, 4)
        dropped = self.attention_dropout if self.training else 0.0
        read = F.scaled_dot_product_attention(query, key, value, bias.to(query.dtype), dropped)
        h = h + self.dropout(self.out(read.transpose(1, 2).flatten(2)))
        return h + self.dropout(self.mlp(h))
