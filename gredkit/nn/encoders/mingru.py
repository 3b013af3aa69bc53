import torch
from torch import Tensor, nn
from torch.nn import functional as F

from gredkit import ranges
from gredkit.nn.dense import Dense
from gredkit.nn.encoders.base import SequenceEncoder, by_hop, check_state, weights
from gredkit.nn.hop_index import HopIndex
from gredkit.nn.scan import last_state
from gredkit.registry import ENCODERS


@ENCODERS.register("mingru")
class MinGRU(SequenceEncoder):
    """Minimal GRU over hops, whose gate does not see the state (Feng et al., "Were RNNs all we needed?", 2024).

    u = σ(W_u z + b_u);  s_k = (1 - u_{v,k}) ⊙ s_{k+1} + u_{v,k} ⊙ (W_s z_{v,k} + b_s);  y_v = W_out s_0
    Gate and candidate are computed once per set. Only the decay 1 - u is multiplied over hops, by sums of its
    logarithm, so candidates may be negative and the published g(·), which makes them positive, is not needed.
    Matrices start with variance 1 / fan_in, biases at zero but for b_u = -keep_bias.
    With empty_hops='constant', an empty hop is one more step on z_∅; with 'zero' it is skipped.
    Shape: z [sets + 1, dim] -> [nodes, dim]

    state_dim: width of the state; None takes the model's
    keep_bias: initial bias in favour of the old state. 1 is that of `gru` here; with 0, as published, half of the state
        is lost with every hop at the start
    """

    def __init__(self, dim: int, state_dim: int | None = None, keep_bias: float = 1.0):
        super().__init__()
        check_state(dim, state_dim)
        ranges.number("keep_bias", keep_bias, lambda b: -100 <= b <= 100, "a number from -100 to 100")
        self.state_dim = state_dim or dim
        self.update, self.candidate = (Dense(dim, self.state_dim) for _ in range(2))
        self.out = Dense(self.state_dim, dim)
        nn.init.constant_(self.update.bias, -keep_bias)

    def recurrent_parameters(self) -> list[nn.Parameter]:
        """As in the GRU: the weights from the input to the state."""
        return weights(self.update, self.candidate)

    def forward(self, z: Tensor, hops: HopIndex) -> Tensor:
        full = torch.promote_types(z.dtype, torch.float32)
        update = self.update(z).to(full)
        b = update.sigmoid() * self.candidate(z).to(full)
        state = last_state(by_hop(F.logsigmoid(-update), hops), by_hop(b, hops))  # 1 - σ(x) = σ(-x)
        return self.out(state.to(z.dtype))
