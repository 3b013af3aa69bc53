from torch import Tensor, nn

from gredkit.nn.convolutions.activation import activation
from gredkit.nn.convolutions.norm import norm_of


class FeedForward(nn.Module):
    """Two dense layers with a residual connection, and a norm behind: the second half of a transformer's layer.

    h ← norm(h) if `first_norm`;  h ← norm(h + drop(W2 drop(act(W1 h)))),  W1: dim → 2 dim
    With the first norm it is the block that GNN+ adds to each layer (Luo et al., ICML 2025).
    Shape: [nodes, dim] -> [nodes, dim]

    act: 'relu' or 'gelu'. dropout: share of what is dropped behind each dense layer. norm: 'batch', 'layer' or 'none'.
    first_norm: whether what comes in is normalised too.
    """

    def __init__(
        self, dim: int, act: str = "relu", dropout: float = 0.0, norm: str = "batch", first_norm: bool = True
    ):  # fmt: skip
        super().__init__()
        self.first_norm, self.last_norm = norm_of(norm if first_norm else "none", dim), norm_of(norm, dim)
        self.up, self.down = nn.Linear(dim, 2 * dim), nn.Linear(2 * dim, dim)
        self.act, self.dropout = activation(act), nn.Dropout(dropout)

    def forward(self, h: Tensor) -> Tensor:
        h = self.first_norm(h)
        return self.last_norm(h + self.dropout(self.down(self.dropout(self.act(self.up(h))))))
