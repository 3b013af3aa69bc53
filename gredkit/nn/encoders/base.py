"""What a sequence encoder is."""

from abc import ABC, abstractmethod
from typing import ClassVar

from torch import Tensor, nn

from gredkit.nn.hop_index import HopIndex


class SequenceEncoder(nn.Module, ABC):
    """Reads each node's hops from the farthest to the target; built as `SequenceEncoder(dim)`.

    It reads the sequence as the index has it, at its true length. Whether empty hops are in it is the
    layer's choice: there they show the row of the empty set, which is the last one of z.
    Shape: z [sets + 1, dim] -> [nodes, dim]
    """

    recurrent_parameters: ClassVar[tuple[str, ...]] = ()  # without weight decay, with a learning rate of their own

    @abstractmethod
    def forward(self, z: Tensor, hops: HopIndex) -> Tensor: ...
