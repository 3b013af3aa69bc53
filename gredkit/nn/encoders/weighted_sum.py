import math
from typing import ClassVar

import torch
from torch import Tensor, nn

from gredkit import ranges
from gredkit.nn.dense import Dense
from gredkit.nn.encoders.base import SequenceEncoder
from gredkit.nn.hop_index import HopIndex
from gredkit.registry import ENCODERS


@ENCODERS.register("weighted_sum")
class WeightedSum(SequenceEncoder):
    """Sum over the hops with one learned weight per hop, like SPN (whose weights also sum to 1).

    y_v = W_out Σ_k w_k z_{v,k},  w_k = 1 at the start
    It has W_out because every other encoder has one. With empty_hops='constant', an empty hop adds w_k z_∅;
    with 'zero' it adds nothing.
    Shape: z [sets + 1, dim] -> [nodes, dim]

    hops: number of weights; hops from `hops - 1` on share the last one
    """

    has_direction: ClassVar[bool] = False

    def __init__(self, dim: int, hops: int = 64):
        super().__init__()
        ranges.width("dim", dim)
        ranges.whole("hops", hops)
        self.weight = nn.Parameter(torch.ones(hops))
        self.out = Dense(dim, dim)

    def forward(self, z: Tensor, hops: HopIndex) -> Tensor:
        grid = hops.grid.sum(z).view(hops.num_nodes, hops.width, -1)
        return self.out(torch.einsum("k,nkd->nd", self._by_hop(hops.width).to(z.dtype), grid))

    def hop_weights(self, width: int) -> Tensor:
        return self._by_hop(width).abs() * torch.linalg.matrix_norm(self.out.weight) / math.sqrt(self.out.out_features)

    def _by_hop(self, width: int) -> Tensor:
        """w_k. Shape: [width]"""
        return self.weight[torch.arange(width, device=self.weight.device).clamp(max=self.weight.numel() - 1)]

    def extra_repr(self) -> str:
        return f"hops={self.weight.numel()}"
