"""What a sequence encoder is."""

from abc import ABC, abstractmethod

from torch import Tensor, nn

from gredkit import ranges
from gredkit.nn.hop_index import HopIndex


class SequenceEncoder(nn.Module, ABC):
    """Reads each node's hops from the farthest to the target; built as `SequenceEncoder(dim)`.

    It reads the sequence as the index has it, at its true length. Whether empty hops are in it is the
    layer's choice: there they show the row of the empty set, which is the last one of z.
    Shape: z [sets + 1, dim] -> [nodes, dim]
    """

    @abstractmethod
    def forward(self, z: Tensor, hops: HopIndex) -> Tensor: ...

    def recurrent_parameters(self) -> list[nn.Parameter]:
        """What makes the recurrence: it has no weight decay, and a learning rate of its own."""
        return []

    def eigenvalues(self) -> Tensor | None:
        """Of a linear recurrence: what multiplies the state from hop to hop. Shape: [state_dim], complex"""
        return None

    def hop_weights(self, width: int) -> Tensor | None:
        """The weights of the hops k = 0..width - 1, if y_v = Σ_k M_k z_{v,k} with matrices of the encoder's own.

        ‖M_k‖_F / sqrt(dim), the root mean square of what hop k adds to an output when the entries of z are
        independent and of variance 1, about as the layer norm before it leaves them. Shape: [width]
        """
        return None


def check_state(dim: int, state_dim: int | None) -> None:
    """Whether a model and its state can be so wide; None stands for the model's width."""
    ranges.width("dim", dim)
    if state_dim is not None:
        ranges.width("state_dim", state_dim)
