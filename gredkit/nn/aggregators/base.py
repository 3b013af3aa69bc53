"""What an aggregator is."""

from abc import ABC, abstractmethod

from torch import Tensor, nn

from gredkit.nn.hop_index import HopIndex


class Aggregator(nn.Module, ABC):
    """Turns each hop set into one row, whatever the order of its members; built as `Aggregator(dim)`.

    The last row stands for the empty set. The layer's set MLP, the paper's MLP2, comes after it.
    Shape: h [nodes, dim] -> [sets + 1, dim]
    """

    @abstractmethod
    def forward(self, h: Tensor, hops: HopIndex) -> Tensor: ...
