from torch import Tensor

from gredkit.nn.encoders.base import SequenceEncoder
from gredkit.nn.hop_index import HopIndex
from gredkit.registry import ENCODERS


@ENCODERS.register("mean")
class Mean(SequenceEncoder):
    """The mean of the hops: the control that forgets order, and has no parameters.

    y_v = Σ_k z_{v,k} / (number of hops read)
    An empty hop that is read counts as one more z_∅; one that is not read is not counted.
    Shape: z [sets + 1, dim] -> [nodes, dim]
    """

    def __init__(self, dim: int):
        super().__init__()

    def forward(self, z: Tensor, hops: HopIndex) -> Tensor:
        return hops.sequences.sum(z) / hops.seq_length.to(z.dtype)[:, None]
