"""What a positional encoding is."""

from abc import ABC, abstractmethod
from typing import ClassVar

from torch import Tensor, nn
from torch_geometric.data import Data

from gredkit.errors import UserError


class PositionalEncoding(nn.Module, ABC):
    """What to compute once for a graph, and a module that turns it into columns beside the node features.

    Shape: batch -> [nodes, width]
    """

    key: ClassVar[str]  # the attribute of the graph that holds what was computed; empty if there is none
    depends_on: ClassVar[tuple[str, ...]] = ()  # the attributes, beside the graph, that it was computed with
    width: int  # columns of the result

    @abstractmethod
    def precompute(self, data: Data) -> Tensor:
        """What depends on the graph alone. Shape: [nodes, ...]"""

    @abstractmethod
    def encode(self, values: Tensor, batch: Data) -> Tensor:
        """Shape: values [nodes, ...] -> [nodes, width]"""

    def add_to(self, data: Data) -> Data:
        """Store what depends on the graph in the graph; returns the graph."""
        data[self.key] = self.precompute(data)
        return data

    def forward(self, batch: Data) -> Tensor:
        if self.key not in batch:
            raise UserError(f"this graph has no {self.key!r}: call add_to of its positional encoding on it first")
        return self.encode(batch[self.key], batch)
