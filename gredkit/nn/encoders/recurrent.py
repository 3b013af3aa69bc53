from collections.abc import Callable

from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence

from gredkit.nn.dense import Dense
from gredkit.nn.encoders.base import SequenceEncoder, check_state
from gredkit.nn.hop_index import HopIndex


class Recurrent(SequenceEncoder):
    """One of PyTorch's recurrent kernels over packed sequences, farthest hop first: y_v = W_out s_v."""

    kernel: Callable[..., nn.RNNBase]

    def __init__(self, dim: int, state_dim: int | None = None, layers: int = 1):
        super().__init__()
        check_state(state_dim)
        state_dim = state_dim or dim
        self.rnn = self.kernel(dim, state_dim, layers)
        self.out = Dense(state_dim, dim)

    def recurrent_parameters(self) -> list[nn.Parameter]:
        """As of the LRU: what leads into the state, and from state to state."""
        return [parameter for name, parameter in self.rnn.named_parameters() if name.startswith("weight")]

    def forward(self, z: Tensor, hops: HopIndex) -> Tensor:
        rows, batch_sizes, place = hops.packed
        _, state = self.rnn(PackedSequence(rows.sum(z), batch_sizes))
        last = state[0] if isinstance(state, tuple) else state  # an LSTM's cell state is not read
        return self.out(last[-1][place])
