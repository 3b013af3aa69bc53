import torch
from torch import Tensor, nn
from torch.nn import functional as F

from gredkit import ranges
from gredkit.nn.dense import Dense
from gredkit.nn.encoders.base import SequenceEncoder, by_hop, check_state, weights
from gredkit.nn.hop_index import HopIndex
from gredkit.nn.scan import last_state
from gredkit.registry import ENCODERS

LEAST = 1e-12  # the smallest 1 - a² below the root, whose gradient is infinite at 0


@ENCODERS.register("rg_lru")
class RGLRU(SequenceEncoder):
    """Real-gated LRU over hops: each channel's decay depends on what is read (Griffin, De et al., 2024).

    x = W_in z;  r = σ(W_r x + b_r);  i = σ(W_i x + b_i);  a_k = a^(c r_{v,k})
    s_k = a_k ⊙ s_{k+1} + √(1 - a_k²) ⊙ (i_{v,k} ⊙ x_{v,k});  y_v = W_out s_0
    a = exp(-softplus(Λ)) is learned, one number for each channel. Λ starts so that a^c is uniform in [r_min, r_max], as
    published; matrices have variance 1 / fan_in and biases are zero, so that at the start r is about 1/2. The matrices
    of the gates are full, those of Griffin are block-diagonal. Gates and inputs are computed once per set.
    With empty_hops='constant', an empty hop is one more step on z_∅; with 'zero' it is skipped.
    Shape: z [sets + 1, dim] -> [nodes, dim]

    state_dim: width of the state; None takes the model's
    r_min, r_max: range of a^c at the start
    c: how much faster than a the state can decay
    """

    def __init__(
        self, dim: int, state_dim: int | None = None, r_min: float = 0.9, r_max: float = 0.999, c: float = 8.0
    ):
        super().__init__()
        check_state(dim, state_dim)
        ranges.number("c", c, lambda factor: 0 < factor <= 1000, "a number above 0 and at most 1000")
        self.c, self.state_dim = c, state_dim or dim
        self.decay = nn.Parameter(initial_decays(self.state_dim, r_min, r_max, c))
        self.into = Dense(dim, self.state_dim)
        self.recurrence_gate, self.input_gate = (Dense(self.state_dim, self.state_dim) for _ in range(2))
        self.out = Dense(self.state_dim, dim)

    def recurrent_parameters(self) -> list[nn.Parameter]:
        """As in the LRU: Λ and the weights from the input to the state; here also those of the gates."""
        return [self.decay, *weights(self.into, self.recurrence_gate, self.input_gate)]

    def forward(self, z: Tensor, hops: HopIndex) -> Tensor:
        full = torch.promote_types(z.dtype, torch.float32)
        x = self.into(z)
        log_a = -self.c * F.softplus(self.decay.to(full)) * self.recurrence_gate(x).to(full).sigmoid()
        size = (-torch.expm1(2 * log_a)).clamp(min=LEAST).sqrt()
        b = size * (self.input_gate(x).sigmoid() * x).to(full)
        return self.out(last_state(by_hop(log_a, hops), by_hop(b, hops)).to(z.dtype))

    def extra_repr(self) -> str:
        return f"c={self.c}"


def initial_decays(size: int, r_min: float, r_max: float, c: float) -> Tensor:
    """Λ for which exp(-softplus(Λ))^c is uniform in [r_min, r_max]. Shape: [size]"""
    for name, value in (("r_min", r_min), ("r_max", r_max)):
        ranges.number(name, value, lambda r: 0 < r < 1, "a decay above 0 and below 1")
    ranges.number("r_min", r_min, lambda r: r <= r_max, f"at most r_max, which is {r_max}")
    rate = -(r_min + torch.rand(size) * (r_max - r_min)).log() / c  # softplus(Λ)
    return rate.expm1().log()
