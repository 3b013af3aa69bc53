from typing import ClassVar

from torch import Tensor

from gredkit import ranges
from gredkit.nn.dense import Dense
from gredkit.nn.encoders.base import SequenceEncoder
from gredkit.nn.hop_index import HopIndex
from gredkit.registry import ENCODERS


@ENCODERS.register("mean")
class Mean(SequenceEncoder):
    """Mean over the hops: the control that ignores their order.

    y_v = W_out Σ_k z_{v,k} / (number of hops)
    It has W_out because every other encoder has one.
    With empty_hops='constant', an empty hop counts as one more z_∅; with 'zero' it is not counted.
    Shape: z [sets + 1, dim] -> [nodes, dim]
    """

    has_direction: ClassVar[bool] = False

    def __init__(self, dim: int):
        super().__init__()
        ranges.width("dim", dim)
        self.out = Dense(dim, dim)

    def forward(self, z: Tensor, hops: HopIndex) -> Tensor:
        return self.out(hops.sequences.sum(z) / hops.seq_length.to(z.dtype)[:, None])
