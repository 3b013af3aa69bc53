"""What a sequence encoder is."""

from abc import ABC, abstractmethod

from torch import Tensor, nn

from gredkit.errors import UserError
from gredkit.nn.hop_index import HopIndex


class SequenceEncoder(nn.Module, ABC):
    """Reads each node's hops from the farthest to the target; built as `SequenceEncoder(dim)`.

    It reads the sequence as the index has it, at its true length. Whether empty hops are in it is the
    layer's choice: there they show the row of the empty set, which is the last one of z.
    Shape: z [sets + 1, dim] -> [nodes, dim]
    """

    @abstractmethod
    def forward(self, z: Tensor, hops: HopIndex) -> Tensor: ...

    def folded(self, hops: HopIndex) -> tuple[Tensor, ...] | None:
        """What kernels fold into one matrix a hop that does the encoder's work, or None if that is not the way."""
        return None

    def recurrent_parameters(self) -> list[nn.Parameter]:
        """What makes the recurrence: it has no weight decay, and a learning rate of its own."""
        return []


def check_state(state_dim: int | None) -> None:
    """Whether a state can be so wide."""
    if state_dim is not None and state_dim < 1:
        raise UserError(f"state_dim is at least 1, or None for the model's width, not {state_dim}")
