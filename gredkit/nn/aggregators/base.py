"""The interface of an aggregator."""

from abc import ABC, abstractmethod

from torch import Tensor, nn

from gredkit.nn.hop_index import HopIndex


class Aggregator(nn.Module, ABC):
    """Turns each hop set into one row that does not depend on the order of its members.

    The last row is that of the empty set. The layer applies its set MLP (MLP2 in the paper) to the result.
    Shape: h [nodes, dim] -> [sets + 1, dim]

    dim: width of the rows, the only argument that the layer passes
    """

    @abstractmethod
    def forward(self, h: Tensor, hops: HopIndex) -> Tensor: ...
