import torch
from torch import Tensor
from torch_geometric.data import Data

from gredkit import ranges
from gredkit.nn.dense import Embed
from gredkit.nn.positional.base import PositionalEncoding
from gredkit.nn.positional.graph import adjacency_matrix
from gredkit.registry import POSITIONAL


@POSITIONAL.register("degree")
class Degree(PositionalEncoding):
    """Embedding of the number of distinct neighbours.

    Embed(min(|N(v)|, largest))
    Shape: [nodes] -> [nodes, width]

    largest: this degree and all larger ones share an embedding
    width: number of columns added to the node features
    std: initial standard deviation of the embeddings; None is 1/√width
    """

    key = "pe_degree"

    def __init__(self, largest: int = 64, width: int = 16, std: float | None = None):
        super().__init__()
        ranges.whole("largest", largest)
        ranges.width("width", width)
        self.largest, self.width = largest, width
        self.embed = Embed(largest + 1, width, std)

    def precompute(self, data: Data) -> Tensor:
        """The exact degree, so that `largest` may change later. Shape: -> [nodes]"""
        return torch.from_numpy(adjacency_matrix(data).sum(1)).long()

    def encode(self, values: Tensor, batch: Data) -> Tensor:
        return self.embed(values.clamp(max=self.largest))

    def extra_repr(self) -> str:
        return f"largest={self.largest}, width={self.width}"
