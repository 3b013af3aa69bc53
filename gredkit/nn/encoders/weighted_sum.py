import torch
from torch import Tensor, nn

from gredkit.nn.encoders.base import SequenceEncoder
from gredkit.nn.hop_index import HopIndex
from gredkit.registry import ENCODERS


@ENCODERS.register("weighted_sum")
class WeightedSum(SequenceEncoder):
    """One learned weight a hop, as SPN combines hops.

    y_v = Σ_k w_k z_{v,k}
    Hops from `hops - 1` on share the last weight. An empty hop that is read adds w_k z_∅; one that is not
    read adds nothing.
    Shape: z [sets + 1, dim] -> [nodes, dim]
    """

    def __init__(self, dim: int, hops: int = 64):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(hops))

    def forward(self, z: Tensor, hops: HopIndex) -> Tensor:
        grid = hops.grid.sum(z).view(hops.num_nodes, hops.width, -1)
        return torch.einsum("k,nkd->nd", self._by_hop(hops.width).to(z.dtype), grid)

    def hop_weights(self, width: int) -> Tensor:
        return self._by_hop(width).abs()

    def _by_hop(self, width: int) -> Tensor:
        """w_k. Shape: [width]"""
        return self.weight[torch.arange(width, device=self.weight.device).clamp(max=self.weight.numel() - 1)]

    def extra_repr(self) -> str:
        return f"hops={self.weight.numel()}"
