"""The interface of a positional encoding."""

from abc import abstractmethod
from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from gredkit.data.structures import Arrays, Structure
from gredkit.errors import UserError


class PositionalEncoding(nn.Module, Structure):
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

    def compute(self, graph: Data) -> Arrays:
        return {"values": self.precompute(graph).numpy()}

    def attach(self, graph: Data, arrays: Arrays) -> Data:
        """The graph itself, with what was computed in the attribute `key`."""
        graph[self.key] = torch.from_numpy(arrays["values"])
        return graph

    def settings(self) -> dict[str, Any]:
        made_by = f"{type(self).__module__}.{type(self).__qualname__}"
        return {**{name: getattr(self, name) for name in self.depends_on}, "class": made_by}

    def forward(self, batch: Data) -> Tensor:
        if self.key not in batch:
            raise UserError(f"this graph has no {self.key!r}: call add_to of its positional encoding on it first")
        return self.encode(batch[self.key], batch)
