import torch
from torch import Tensor, nn
from torch.nn import functional as F

from gredkit import ranges
from gredkit.nn.encoders.base import by_hop, weights
from gredkit.nn.encoders.linear_attention import SMALL, LinearAttention, head_size, xavier
from gredkit.nn.hop_index import HopIndex
from gredkit.nn.scan import before
from gredkit.registry import ENCODERS


@ENCODERS.register("gla")
class GLA(LinearAttention):
    """Gated linear attention over hops: every key forgets at a rate that depends on what is read (Yang et al., 2024).

    α = σ(W_2 W_1 z + b)^(1/τ);  S_k = diag(α_{v,k}) S_{k+1} + k_{v,k}ᵀ v_{v,k};  o_v = q_{v,0} S_0 / √d
    y_v = W_o (swish(W_g z_{v,0}) ⊙ norm(o_v))
    Keys have half the columns of values, W_1 has `rank` rows, and `norm` is the root mean square of a head. All
    matrices start with Xavier's uniform distribution times 2^-2.5 and b at zero, so α starts near 0.5^(1/τ) = 0.96.
    Keys, values and α are computed once per set. Because the state is read at the target only, a hop has one score for
    each head and no state is computed; the state of DeltaNet, whose decay is a matrix, would have to be.
    With empty_hops='constant', an empty hop is one more step on z_∅; with 'zero' it is skipped.
    Shape: z [sets + 1, dim] -> [nodes, dim]

    state_dim: columns of values in all heads together; None takes the model's width
    heads: number of heads
    tau: how much slower than σ the keys forget
    rank: width between the two matrices of the decay
    """

    def __init__(self, dim: int, state_dim: int | None = None, heads: int = 4, tau: float = 16.0, rank: int = 16):
        size = head_size(dim, state_dim, heads)
        ranges.positive("tau", tau)
        ranges.width("rank", rank)
        super().__init__(dim, heads, -(-size // 2), size, out_gain=SMALL)
        self.tau = tau
        self.decay_down, self.decay_up = xavier(dim, rank, SMALL), xavier(rank, heads * -(-size // 2), SMALL)
        self.decay_bias = nn.Parameter(torch.zeros(heads * -(-size // 2)))

    def recurrent_parameters(self) -> list[nn.Parameter]:
        """What sets the decay; keys and values are like those of other attention."""
        return [*weights(self.decay_down, self.decay_up), self.decay_bias]

    def scores(self, query: Tensor, z: Tensor, hops: HopIndex) -> Tensor:
        gate = self.decay_up(self.decay_down(z)).to(query.dtype) + self.decay_bias.to(query.dtype)
        kept = self._heads(before(by_hop(F.logsigmoid(gate) / self.tau, hops)).exp())
        return (query[:, None] * kept * self.keys(z, hops)).sum(-1)

    def extra_repr(self) -> str:
        return f"heads={self.heads}, tau={self.tau}"
