from torch import Tensor, nn

from gredkit.nn.convolutions.activation import activation


class FeedForward(nn.Module):
    """Two dense layers with a residual connection between two batch norms: the block that GNN+ adds to each layer.

    h ← BN(h);  h ← BN(h + drop(W2 drop(act(W1 h)))),  W1: dim → 2 dim   (Luo et al., ICML 2025)
    Shape: [nodes, dim] -> [nodes, dim]

    act: 'relu' or 'gelu'. dropout: share of what is dropped behind each dense layer.
    """

    def __init__(self, dim: int, act: str = "relu", dropout: float = 0.0):
        super().__init__()
        self.first_norm, self.last_norm = nn.BatchNorm1d(dim), nn.BatchNorm1d(dim)
        self.up, self.down = nn.Linear(dim, 2 * dim), nn.Linear(2 * dim, dim)
        self.act, self.dropout = activation(act), nn.Dropout(dropout)

    def forward(self, h: Tensor) -> Tensor:
        h = self.first_norm(h)
        return self.last_norm(h + self.dropout(self.down(self.dropout(self.act(self.up(h))))))
