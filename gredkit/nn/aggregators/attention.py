from torch import Tensor

from gredkit import ranges
from gredkit.nn.aggregators.base import Aggregator
from gredkit.nn.dense import Dense
from gredkit.nn.hop_index import HopIndex
from gredkit.nn.segments import check_backend, segment_softmax, sum_entries
from gredkit.registry import AGGREGATORS


@AGGREGATORS.register("attention")
class AttentionAggregator(Aggregator):
    """Weighted mean of the members; each head has its own weights, a softmax over the set.

    a_s = W_o concat_i Σ_{u∈s} softmax_{u∈s}(q_i · h_u) W_i h_u
    The empty set gives the bias of W_o.
    Shape: h [nodes, dim] -> [sets + 1, dim]

    heads: number of attention heads
    backend: 'native', 'torch_scatter' or 'auto', the one that was measured to be faster on the device
    """

    def __init__(self, dim: int, heads: int = 4, backend: str = "native"):
        super().__init__()
        ranges.width("dim", dim)
        ranges.whole("heads", heads, 1, 1024)
        check_backend(backend)
        self.backend = backend
        self.heads, self.head_dim = heads, -(-dim // heads)
        self.score = Dense(dim, heads)
        self.value = Dense(dim, heads * self.head_dim, bias=False)
        self.out = Dense(heads * self.head_dim, dim)

    def forward(self, h: Tensor, hops: HopIndex) -> Tensor:
        weight = segment_softmax(self.score(h), hops.sets, self.backend)
        value = self.value(h)[hops.sets.columns].unflatten(1, (self.heads, self.head_dim))
        return self.out(sum_entries((weight[:, :, None] * value).flatten(1), hops.sets, self.backend))
