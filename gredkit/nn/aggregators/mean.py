from torch import Tensor

from gredkit.nn.aggregators.reduction import Reduction
from gredkit.nn.hop_index import HopIndex
from gredkit.nn.segments import segment_reduce
from gredkit.registry import AGGREGATORS


@AGGREGATORS.register("mean")
class MeanAggregator(Reduction):
    """Mean of the members: ignores how many there are.

    a_s = Σ_{u∈s} h_u / |s|;  0 for the empty set
    Shape: h [nodes, dim] -> [sets + 1, dim]

    backend: 'native', 'torch_scatter' or 'auto', the one that was measured to be faster on the device
    """

    def forward(self, h: Tensor, hops: HopIndex) -> Tensor:
        return segment_reduce(h, hops.sets, "mean", self.backend)
