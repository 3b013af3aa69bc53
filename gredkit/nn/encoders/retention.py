import torch
from torch import Tensor

from gredkit import ranges
from gredkit.nn.encoders.linear_attention import LinearAttention, head_size
from gredkit.nn.hop_index import HopIndex
from gredkit.registry import ENCODERS


@ENCODERS.register("retention")
class Retention(LinearAttention):
    """Multi-scale retention: linear attention whose heads forget at fixed rates (RetNet, Sun et al., 2023).

    For head h:  S_k = γ_h e^{iθ} S_{k+1} + conj(k_{v,k})ᵀ v_{v,k};  o_v = Re[q_{v,0} S_0] / √d
    y_v = W_o (swish(W_g z_{v,0}) ⊙ norm(o_v)),  γ_h = 1 - 2^-(exponent + h),  θ_j = 10000^-(j / pairs)
    Columns of queries and keys are pairs, the real and imaginary parts of a number that turns by θ with each hop
    (xPos). γ and θ are fixed, as published; `norm` is the root mean square of a head, as in the published code.
    It starts with Xavier's uniform distribution times 2^-2.5, W_o times 1, and has no bias.
    The query and the gate depend on the target, so y_v is not linear in z and does not fold into one matrix per hop:
    keys and values are computed once per set, and a hop has one score for each head. It has eigenvalues, γ_h e^{iθ_j},
    but no hop weights.
    With empty_hops='constant', an empty hop has key and value of z_∅; with 'zero' the state only decays.
    Shape: z [sets + 1, dim] -> [nodes, dim]

    state_dim: columns of keys, and of values, in all heads together; None takes the model's width
    heads: number of heads; the columns of a head are rounded up to an even number
    exponent: 1 - 2^-exponent is the decay of the first head; 5 as published, where all heads reach farther than 20 hops
    """

    def __init__(self, dim: int, state_dim: int | None = None, heads: int = 4, exponent: float = 5.0):
        size = -(-head_size(dim, state_dim, heads) // 2) * 2
        ranges.number("exponent", exponent, lambda e: 0 < e <= 20, "a number above 0 and at most 20")
        super().__init__(dim, heads, size, size, out_gain=1.0)
        self.pairs, self.exponent = size // 2, exponent

    def eigenvalues(self) -> Tensor:
        """γ_h e^{iθ_j}, which are not trained. Shape: [heads * pairs], complex"""
        log_decay, angle = self._fixed(self.out.weight)
        return torch.polar(log_decay.exp()[:, None].expand(-1, self.pairs), angle.expand(self.heads, -1)).flatten()

    def scores(self, query: Tensor, z: Tensor, hops: HopIndex) -> Tensor:
        log_decay, angle = self._fixed(query)
        k = torch.arange(hops.width, device=query.device, dtype=query.dtype)[:, None]
        cos, sin = (k * angle).cos()[:, None], (k * angle).sin()[:, None]  # [width, 1, pairs]
        (a, b), (c, d) = query[:, None].chunk(2, -1), self.keys(z, hops).chunk(2, -1)
        turned = (a * c + b * d) * cos - (b * c - a * d) * sin  # Re[q conj(k) e^{ikθ}]
        return turned.sum(-1) * (k * log_decay).exp()

    def _fixed(self, like: Tensor) -> tuple[Tensor, Tensor]:
        """log γ [heads] and θ [pairs], never in half precision."""
        full = torch.promote_types(like.dtype, torch.float32)
        head, pair = (torch.arange(count, device=like.device, dtype=full) for count in (self.heads, self.pairs))
        return torch.log1p(-(2 ** -(self.exponent + head))), 10000 ** -(pair / self.pairs)

    def extra_repr(self) -> str:
        return f"heads={self.heads}, exponent={self.exponent}"
