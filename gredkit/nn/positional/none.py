import torch
from torch import Tensor
from torch_geometric.data import Data

from gredkit.nn.positional.base import PositionalEncoding
from gredkit.registry import POSITIONAL


@POSITIONAL.register("none")
class NoPositional(PositionalEncoding):
    """No positional encoding: the paper argues that the order of the hops is enough. Shape: -> [nodes, 0]"""

    key = ""
    width = 0

    def precompute(self, data: Data) -> Tensor:
        return torch.empty(data.num_nodes or 0, 0)

    def encode(self, values: Tensor, batch: Data) -> Tensor:
        return values

    def add_to(self, data: Data) -> Data:
        return data

    def forward(self, batch: Data) -> Tensor:
        return torch.empty(batch.num_nodes or 0, 0, device=batch.x.device)
