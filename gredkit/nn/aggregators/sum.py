from torch import Tensor

from gredkit.nn.aggregators.reduction import Reduction
from gredkit.nn.hop_index import HopIndex
from gredkit.nn.kernels.known import known
from gredkit.nn.segments import segment_reduce
from gredkit.registry import AGGREGATORS


@AGGREGATORS.register("sum")
@known
class SumAggregator(Reduction):
    """Sum of the members, as in the paper (DeepSets): injective on multisets together with the MLPs around it.

    a_s = Σ_{u∈s} h_u
    Shape: h [nodes, dim] -> [sets + 1, dim]

    backend: 'native', 'torch_scatter' or 'auto', the one that was measured to be faster on the device
    """

    def forward(self, h: Tensor, hops: HopIndex) -> Tensor:
        return segment_reduce(h, hops.sets, "sum", self.backend)
