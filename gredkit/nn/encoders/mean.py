from torch import Tensor

from gredkit import ranges
from gredkit.nn.dense import Dense
from gredkit.nn.encoders.base import SequenceEncoder
from gredkit.nn.hop_index import HopIndex
from gredkit.registry import ENCODERS


@ENCODERS.register("mean")
class Mean(SequenceEncoder):
    """The mean of the hops: the control that forgets order.

    y_v = W_out Σ_k z_{v,k} / (number of hops read)
    W_out is there because every other encoder has one.
    An empty hop that is read counts as one more z_∅; one that is not read is not counted.
    Shape: z [sets + 1, dim] -> [nodes, dim]
    """

    def __init__(self, dim: int):
        super().__init__()
        ranges.width("dim", dim)
        self.out = Dense(dim, dim)

    def forward(self, z: Tensor, hops: HopIndex) -> Tensor:
        return self.out(hops.sequences.sum(z) / hops.seq_length.to(z.dtype)[:, None])
