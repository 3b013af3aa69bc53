import torch
from torch import Tensor, nn

from gredkit.nn.incidence import Incidence


class GCNEConv(nn.Module):
    """The graph convolution of GCN+ that reads edges: no normalisation by degrees, and no term of the node itself.

    h'_v = b + Σ_{u → v} relu(W h_u + e_uv)   (GNNPlus, kind `gcne`; Luo et al., ICML 2025)
    Shape: x [nodes, dim], edge_attr [edges, dim] -> [nodes, dim]
    """

    def __init__(self, dim: int):
        super().__init__()
        self.lin = nn.Linear(dim, dim, bias=False)
        self.bias = nn.Parameter(torch.zeros(dim))
        nn.init.xavier_uniform_(self.lin.weight)  # as PyTorch Geometric's GCNConv

    def forward(self, x: Tensor, edge_index: Tensor, edge_attr: Tensor) -> Tensor:
        source, target = edge_index
        messages = (self.lin(x)[source] + edge_attr).relu()
        return Incidence.by_column(target, len(x)).sum(messages) + self.bias
