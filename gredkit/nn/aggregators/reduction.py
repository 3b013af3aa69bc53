"""Aggregators that reduce each set with one function of a chosen library."""

from gredkit.nn.aggregators.base import Aggregator
from gredkit.nn.segments import check_backend


class Reduction(Aggregator):
    """An aggregator without weights, whose `backend` computes the reduction.

    backend: 'native', 'torch_scatter' or 'auto', the one that was measured to be faster on the device
    """

    def __init__(self, dim: int, backend: str = "native"):
        super().__init__()
        check_backend(backend)
        self.backend = backend
