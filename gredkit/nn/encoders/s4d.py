import math

import torch
from torch import Tensor, nn

from gredkit import ranges
from gredkit.nn.encoders.base import SequenceEncoder, by_hop, initial_steps
from gredkit.nn.hop_index import HopIndex
from gredkit.registry import ENCODERS

INITS = ("lin", "inv")


@ENCODERS.register("s4d")
class S4D(SequenceEncoder):
    """Diagonal state space model over hops: a small linear recurrence for each channel (Gu et al., NeurIPS 2022).

    For channel c:  s_k = Ā_c ⊙ s_{k+1} + B̄_c z_{v,k,c};  y_{v,c} = 2 Re[C_c · s_0] + D_c z_{v,0,c}
    Ā = exp(Δ A),  B̄ = (Ā - 1) / A  (zero-order hold, B = 1).  A, C, D and the step Δ of each channel are learned.
    A = -exp(a) + i b keeps |Ā| < 1. Of each pair of conjugate states one is computed, hence 2 Re.
    A starts as -1/2 + iπn ('lin') or -1/2 + i N/π (N / (2n + 1) - 1) ('inv') for n = 0..N/2 - 1, Δ log-uniform in
    [dt_min, dt_max], C and D normal with variance 1, as published.
    D belongs to the hop that is read last, which is the target unless hops are read from near to far.
    All hops together are y_v = Σ_k κ_k ⊙ z_{v,k}: one number for each hop and channel. These are diagonal matrices, so
    the compiled product with full matrices, which the LRU uses, would only be slower. Channels are mixed by the gate of
    the layer, which follows gelu as in the published block. An empty hop that is read adds κ_k ⊙ z_∅.
    Shape: z [sets + 1, dim] -> [nodes, dim]

    states: number N of states for each channel, even
    init: 'lin' or 'inv', see above
    dt_min, dt_max: range of the initial steps. The published one is made for thousands of places: over 40 hops a step
        of 0.001 hardly moves the state, and what it adds is as small. 0.01 to 1 suits short sequences
    """

    def __init__(self, dim: int, states: int = 64, init: str = "lin", dt_min: float = 0.001, dt_max: float = 0.1):
        super().__init__()
        ranges.width("dim", dim)
        ranges.width("states", states)
        ranges.number("states", states, lambda n: n % 2 == 0, "an even number, because states come in conjugate pairs")
        ranges.one_of("init", init, INITS)
        self.dim, self.states, self.init = dim, states, init
        half = states // 2
        self.log_dt = nn.Parameter(initial_steps(dim, dt_min, dt_max))
        self.log_decay = nn.Parameter(torch.full((dim, half), math.log(0.5)))
        self.frequency = nn.Parameter(initial_frequencies(states, init).repeat(dim, 1))
        self.out_re = nn.Parameter(torch.randn(dim, half) / math.sqrt(2))
        self.out_im = nn.Parameter(torch.randn(dim, half) / math.sqrt(2))
        self.skip = nn.Parameter(torch.randn(dim))

    def recurrent_parameters(self) -> list[nn.Parameter]:
        return [self.log_dt, self.log_decay, self.frequency]  # as published: Δ and A

    def eigenvalues(self) -> Tensor:
        """Ā of all channels, one of each conjugate pair. Shape: [dim * states / 2], complex"""
        decay, angle, _, _ = self._discrete()
        return torch.polar((-decay).exp(), angle).flatten()

    def hop_weights(self, width: int) -> Tensor:
        return self.kernel(width).square().mean(1).sqrt()

    def forward(self, z: Tensor, hops: HopIndex) -> Tensor:
        return (by_hop(z, hops) * self.kernel(hops.width).to(z.dtype)).sum(1)

    def kernel(self, width: int) -> Tensor:
        """κ_k = 2 Re[Σ_n C_n B̄_n Ā_n^k], and D more for k = 0. Shape: [width, dim]"""
        decay, angle, re, im = self._discrete()
        out_re, out_im = self.out_re.to(decay), self.out_im.to(decay)
        k = torch.arange(width, device=decay.device, dtype=decay.dtype)[:, None, None]
        wave = (out_re * re - out_im * im) * (k * angle).cos() - (out_re * im + out_im * re) * (k * angle).sin()
        kernel = 2 * ((-k * decay).exp() * wave).sum(2)
        return kernel + (k[..., 0] == 0) * self.skip.to(decay)

    def _discrete(self) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """-log|Ā|, the phase of Ā, and both parts of B̄; never in half precision. Shape: [dim, states / 2] each"""
        full = torch.promote_types(self.log_dt.dtype, torch.float32)
        dt, slow, turn = self.log_dt.to(full).exp()[:, None], self.log_decay.to(full).exp(), self.frequency.to(full)
        decay, angle = dt * slow, dt * turn
        # Ā - 1 without the difference of two numbers near 1, then divided by A = -slow + i turn.
        re = torch.expm1(-decay) * angle.cos() - 2 * (angle / 2).sin().square()
        im = (-decay).exp() * angle.sin()
        size = slow.square() + turn.square()
        return decay, angle, (im * turn - re * slow) / size, -(im * slow + re * turn) / size

    def extra_repr(self) -> str:
        return f"{self.dim}, states={self.states}, init={self.init!r}"


def initial_frequencies(states: int, init: str) -> Tensor:
    """The imaginary parts of A that S4D-Lin and S4D-Inv start with. Shape: [states / 2]"""
    n = torch.arange(states // 2, dtype=torch.get_default_dtype())
    return math.pi * n if init == "lin" else states / math.pi * (states / (2 * n + 1) - 1)
