from typing import ClassVar

import torch
from torch import Tensor
from torch.nn import functional as F

from gredkit import ranges
from gredkit.nn.dense import Dense
from gredkit.nn.encoders.base import SequenceEncoder
from gredkit.nn.hop_index import HopIndex
from gredkit.nn.kernels import encoder_ops, known
from gredkit.nn.kernels.encoders import Encoder, is_mostly_padding
from gredkit.nn.kernels.usable import can_fuse
from gredkit.registry import ENCODERS

MOST_HEADS = 1024


@ENCODERS.register("attention")
@known.known
class Attention(SequenceEncoder):
    """Multi-head self-attention over hops, read at the target: GRED_Attn in the paper.

    y_v = W_o concat_i Σ_k softmax_k(q_i(z_{v,0}) · k_i(z_{v,k})) v_i(z_{v,k})
    With empty_hops='constant', an empty hop is a key and value made of z_∅; with 'zero' it is masked in the
    softmax. All four matrices start with variance 1 / fan_in and zero bias, so that the scores of normalised
    rows start with a variance of about 1.
    Shape: z [sets + 1, dim] -> [nodes, dim]

    heads: number of attention heads
    order: whether keys and values include a sinusoidal code of k; without it the order of hops is unknown
    """

    has_direction: ClassVar[bool] = False

    def __init__(self, dim: int, heads: int = 8, order: bool = False):
        super().__init__()
        ranges.width("dim", dim)
        ranges.whole("heads", heads, 1, MOST_HEADS)
        self.heads, self.order = heads, order
        inner = heads * -(-dim // heads)
        self.query, self.key, self.value = (Dense(dim, inner) for _ in range(3))
        self.out = Dense(inner, dim)

    def forward(self, z: Tensor, hops: HopIndex) -> Tensor:
        if (y := self._by_kernels(z, hops)) is not None:
            return y
        query = self._heads(self.query(hops.targets.sum(z))[:, None])
        if self.order:
            rows = hops.grid.sum(z).view(hops.num_nodes, hops.width, -1)
            rows = rows + sinusoidal(hops.width, z.shape[1], z)
            key, value = self.key(rows), self.value(rows)
        else:  # once per set, not once per row
            key, value = (hops.grid.sum(x).view(hops.num_nodes, hops.width, -1) for x in (self.key(z), self.value(z)))
        read = F.scaled_dot_product_attention(
            query, self._heads(key), self._heads(value), attn_mask=hops.mask[:, None, None]
        )
        return self.out(read.flatten(1))

    def _by_kernels(self, z: Tensor, hops: HopIndex) -> Tensor | None:
        """The same function, if kernels can compute it from these rows. Shape: [nodes, dim]"""
        if not can_fuse(z) or not known.is_itself(hops) or z.shape[:-1] != (hops.num_sets + 1,):
            return None
        found = known.read((known.ATTENTION, self), d=z.shape[1])
        if found is None or is_mostly_padding(self.heads):
            return None
        return encoder_ops.encoder(Encoder("Attention", heads=self.heads), z, hops.index, found.weights[0])

    def _heads(self, x: Tensor) -> Tensor:
        """[nodes, hops, heads * d] -> [nodes, heads, hops, d]"""
        return x.unflatten(-1, (self.heads, -1)).transpose(1, 2)

    def extra_repr(self) -> str:
        return f"heads={self.heads}, order={self.order}"


def sinusoidal(length: int, dim: int, like: Tensor) -> Tensor:
    """Sine and cosine of k with wavelengths from 2π to 10000 · 2π. Shape: -> [length, dim]"""
    full = torch.promote_types(like.dtype, torch.float32)
    k = torch.arange(length, device=like.device, dtype=full)[:, None]
    rate = 10000 ** -(torch.arange((dim + 1) // 2, device=like.device, dtype=full) * 2 / dim)
    return torch.stack([(k * rate).sin(), (k * rate).cos()], -1).flatten(1)[:, :dim].to(like.dtype)
