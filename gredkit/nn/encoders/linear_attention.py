from abc import abstractmethod

import torch
from torch import Tensor, nn

from gredkit import ranges
from gredkit.nn.encoders.base import SequenceEncoder, by_hop, check_state
from gredkit.nn.hop_index import HopIndex

MOST_HEADS = 1024
SMALL = 2**-2.5  # of Xavier's uniform distribution, as RetNet and GLA start
EPS = 1e-6


class LinearAttention(SequenceEncoder):
    """Attention without softmax over hops, whose matrix-valued state is read at the target only.

    S_k = D_{v,k} S_{k+1} + k_{v,k}ᵀ v_{v,k};  o_v = q_{v,0} S_0 / √d;  y_v = W_o (swish(W_g z_{v,0}) ⊙ norm(o_v))
    Because only the last state is read, o_v is a sum over hops with one score for each head and hop, and no state is
    ever computed: o_v = Σ_k (q_{v,0} · E_{v,k} k_{v,k}) v_{v,k} / √d, where E_{v,k} is the product of the decays D of
    the nearer hops. Keys and values are computed once per set; query and gate are those of the target, in whatever
    direction hops are read. `norm` divides each head by its root mean square.
    Shape: z [sets + 1, dim] -> [nodes, dim]

    heads: number of heads, which share the columns; key_size, value_size: columns of a head
    """

    def __init__(self, dim: int, heads: int, key_size: int, value_size: int, out_gain: float):
        super().__init__()
        self.heads = heads
        self.query, self.key = (xavier(dim, heads * key_size, SMALL) for _ in range(2))
        self.value, self.gate = (xavier(dim, heads * value_size, SMALL) for _ in range(2))
        self.out = xavier(heads * value_size, dim, out_gain)

    def forward(self, z: Tensor, hops: HopIndex) -> Tensor:
        full = torch.promote_types(z.dtype, torch.float32)
        target = hops.targets.sum(z)
        query, value = self._heads(self.query(target).to(full)), self._heads(by_hop(self.value(z), hops).to(full))
        read = (self.scores(query, z, hops)[..., None] * value).sum(1) / query.shape[-1] ** 0.5
        read = read * (read.square().mean(-1, keepdim=True) + EPS).rsqrt()
        return self.out(nn.functional.silu(self.gate(target)) * read.flatten(1).to(z.dtype))

    @abstractmethod
    def scores(self, query: Tensor, z: Tensor, hops: HopIndex) -> Tensor:
        """q_{v,0} · E_{v,k} k_{v,k}. Shape: query [nodes, heads, d], z [sets + 1, dim] -> [nodes, width, heads]"""

    def keys(self, z: Tensor, hops: HopIndex) -> Tensor:
        """The keys of every hop, in full precision. Shape: z [sets + 1, dim] -> [nodes, width, heads, d]"""
        return self._heads(by_hop(self.key(z), hops).to(torch.promote_types(z.dtype, torch.float32)))

    def _heads(self, x: Tensor) -> Tensor:
        return x.unflatten(-1, (self.heads, x.shape[-1] // self.heads))

    def extra_repr(self) -> str:
        return f"heads={self.heads}"


def xavier(inputs: int, outputs: int, gain: float) -> nn.Linear:
    """A linear layer without bias, with Xavier's uniform distribution times `gain`."""
    layer = nn.Linear(inputs, outputs, bias=False)
    nn.init.xavier_uniform_(layer.weight, gain)
    return layer


def head_size(dim: int, state_dim: int | None, heads: int) -> int:
    """The columns of a head, rounded up, at least 2: a single number would lose its size in the norm."""
    check_state(dim, state_dim)
    ranges.whole("heads", heads, 1, MOST_HEADS)
    return max(2, -(-(state_dim or dim) // heads))
