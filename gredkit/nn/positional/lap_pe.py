import torch
from torch import Tensor
from torch_geometric.data import Data

from gredkit import ranges
from gredkit.nn.dense import dtype_of, gelu_mlp
from gredkit.nn.positional.base import PositionalEncoding
from gredkit.nn.positional.graph import adjacency_matrix
from gredkit.nn.positional.laplacian import eigenvectors
from gredkit.registry import POSITIONAL


@POSITIONAL.register("lap_pe")
class LapPE(PositionalEncoding):
    """The first non-trivial eigenvectors of the normalised Laplacian, through two dense layers.

    Dense(gelu(Dense(u_v))),  (I - D^-1/2 A D^-1/2) u_i = λ_i u_i,  |u_i| = 1,  λ_1 <= … <= λ_k
    No code for it was published. From the paper's sentence: the 10 smallest non-trivial eigenvectors, a hidden width
    of 16, put beside the node features. Our choices: the symmetric normalised Laplacian; two dense layers with one
    gelu; the 16 columns are taken out of the model's width; components are solved apart, and columns are zero where a
    graph has too few eigenvectors; the sign of an eigenvector means nothing, so in training each graph's signs are
    drawn anew at every step.
    Shape: [nodes, k] -> [nodes, width]
    """

    key = "pe_lap"
    depends_on = ("k",)

    def __init__(self, k: int = 10, width: int = 16, gelu: str | None = None):
        super().__init__()
        ranges.width("k", k)
        ranges.width("width", width)
        self.k, self.width = k, width
        self.mlp = gelu_mlp(k, width, width, gelu)

    def precompute(self, data: Data) -> Tensor:
        """Each eigenvector with the sign that makes its largest entry positive. Shape: [nodes, k]"""
        return torch.from_numpy(eigenvectors(adjacency_matrix(data), self.k)).float()

    def encode(self, values: Tensor, batch: Data) -> Tensor:
        values = values.to(dtype_of(self.mlp))
        return self.mlp(random_signs(values, batch) if self.training else values)


def random_signs(values: Tensor, batch: Data) -> Tensor:
    """One sign for each graph and column. Shape: [nodes, k] -> [nodes, k]"""
    of_graph = batch.batch
    graphs = 1 if of_graph is None else batch.num_graphs
    signs = torch.randint(2, (graphs, values.shape[1]), device=values.device).to(values.dtype) * 2 - 1
    return values * (signs if of_graph is None else signs[of_graph])
