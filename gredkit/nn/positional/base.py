"""The interface of a positional encoding."""

from abc import ABC, abstractmethod
from typing import ClassVar

from torch import Tensor, nn
from torch_geometric.data import Data

from gredkit.errors import UserError


class PositionalEncoding(nn.Module, ABC):
    """Values computed once per graph, and a module that turns them into extra columns of the node features.

    Shape: batch -> [nodes, width]
    """

    key: ClassVar[str]  # the graph's attribute with the computed values; empty if there are none
    depends_on: ClassVar[tuple[str, ...]] = ()  # the settings on which the computed values depend
    width: int  # number of columns of the result

    @abstractmethod
    def precompute(self, data: Data) -> Tensor:
        """The values that depend only on the graph, computed once. Shape: -> [nodes, ...]"""

    @abstractmethod
    def encode(self, values: Tensor, batch: Data) -> Tensor:
        """Turn the computed values into columns. Shape: values [nodes, ...] -> [nodes, width]"""

    def add_to(self, data: Data) -> Data:
        """Compute the values and store them in the graph; returns the graph."""
        data[self.key] = self.precompute(data)
        return data

    def forward(self, batch: Data) -> Tensor:
        if self.key not in batch:
            raise UserError(f"this graph has no {self.key!r}: call add_to of its positional encoding on it first")
        return self.encode(batch[self.key], batch)
