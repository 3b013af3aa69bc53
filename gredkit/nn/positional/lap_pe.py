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
    """The first non-trivial eigenvectors of the normalised Laplacian, followed by two dense layers.

    Dense(gelu(Dense(u_v))),  (I - D^-1/2 A D^-1/2) u_i = λ_i u_i,  |u_i| = 1,  λ_1 <= … <= λ_k
    The paper describes it in one sentence and its code was not published. From the paper: the 10 smallest
    non-trivial eigenvectors, a hidden width of 16, concatenated with the node features. Our choices: the symmetric
    normalised Laplacian; two dense layers with one gelu; the 16 columns are part of the model's width; connected
    components are solved separately, and columns are zero if a graph has too few eigenvectors; since the sign of
    an eigenvector is arbitrary, each training step draws new random signs for each graph.
    Shape: [nodes, k] -> [nodes, width]

    k: number of eigenvectors
    width: number of columns added to the node features
    gelu: 'erf' (exact) or 'tanh' (as published); None takes the model's
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
        """The eigenvectors, with signs such that the largest entry is positive. Shape: -> [nodes, k]"""
        return torch.from_numpy(eigenvectors(adjacency_matrix(data), self.k)).float()

    def encode(self, values: Tensor, batch: Data) -> Tensor:
        values = values.to(dtype_of(self.mlp))
        return self.mlp(random_signs(values, batch) if self.training else values)


def random_signs(values: Tensor, batch: Data) -> Tensor:
    """Multiply by one random sign per graph and column. Shape: [nodes, k] -> [nodes, k]"""
    of_graph = batch.batch
    graphs = 1 if of_graph is None else batch.num_graphs
    signs = torch.randint(2, (graphs, values.shape[1]), device=values.device).to(values.dtype) * 2 - 1
    return values * (signs if of_graph is None else signs[of_graph])
