from torch import Tensor

from gredkit.nn.aggregators.base import Aggregator
from gredkit.nn.hop_index import HopIndex
from gredkit.nn.segments import check_backend, segment_reduce
from gredkit.registry import AGGREGATORS


@AGGREGATORS.register("max")
class MaxAggregator(Aggregator):
    """Maximum of each feature over the members: ignores how often a value occurs.

    a_s = max_{u∈s} h_u;  0 for the empty set
    Shape: h [nodes, dim] -> [sets + 1, dim]

    backend: 'native', 'torch_scatter' or 'auto', the one that was measured to be faster on the device
    """

    def __init__(self, dim: int, backend: str = "native"):
        super().__init__()
        check_backend(backend)
        self.backend = backend

    def forward(self, h: Tensor, hops: HopIndex) -> Tensor:
        return segment_reduce(h, hops.sets, "max", self.backend)
