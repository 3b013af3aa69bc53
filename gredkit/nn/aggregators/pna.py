import torch
from torch import Tensor

from gredkit import ranges
from gredkit.nn.aggregators.base import Aggregator
from gredkit.nn.dense import Dense
from gredkit.nn.hop_index import HopIndex
from gredkit.nn.segments import check_backend, segment_reduce, sum_entries
from gredkit.registry import AGGREGATORS


@AGGREGATORS.register("pna")
class PNAAggregator(Aggregator):
    """Mean, maximum, minimum and standard deviation of the members, each also scaled up and down by the set's size.

    a_s = W [1, ρ, 1/ρ] ⊗ [mean, max, min, std]  with  ρ = log(|s| + 1) / mean_log_size
    The empty set gives the bias of W.
    Shape: h [nodes, dim] -> [sets + 1, dim]

    mean_log_size: the mean of log(|s| + 1) over the hop sets of the training graphs
    backend: 'native', 'torch_scatter' or 'auto', the one that was measured to be faster on the device
    """

    def __init__(self, dim: int, mean_log_size: float = 1.0, backend: str = "native"):
        super().__init__()
        ranges.width("dim", dim)
        ranges.positive("mean_log_size", mean_log_size)
        check_backend(backend)
        self.backend = backend
        self.mean_log_size = mean_log_size
        self.mix = Dense(12 * dim, dim)

    def forward(self, h: Tensor, hops: HopIndex) -> Tensor:
        dim = h.shape[1]
        mean = segment_reduce(h, hops.sets, "mean", self.backend)
        extremes = segment_reduce(torch.cat([h, -h], 1), hops.sets, "max", self.backend)
        # Deviations from the mean, not a difference of squares: exactly zero for equal members in any precision.
        deviation = h[hops.sets.columns] - mean[hops.sets.entry_row]
        size = hops.set_size.to(h.dtype)[:, None]
        variance = sum_entries(deviation.square(), hops.sets, self.backend) / size.clamp(min=1)
        std = (variance + 1e-5).sqrt() - 1e-5**0.5
        statistics = torch.cat([mean, extremes[:, :dim], -extremes[:, dim:], std], 1)
        ratio = (size + 1).log() / self.mean_log_size
        down = torch.where(size > 0, 1 / ratio.clamp(min=1e-6), 0)
        return self.mix(torch.cat([statistics, ratio * statistics, down * statistics], 1))
