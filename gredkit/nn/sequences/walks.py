"""What sequences of walks have in common: sums over walks stand at their places, and not sets of nodes."""

from abc import abstractmethod
from collections.abc import Iterator

import torch
from torch import Tensor
from torch_geometric.data import Data

from gredkit.errors import UserError
from gredkit.nn.aggregators.base import Aggregator
from gredkit.nn.aggregators.sum import SumAggregator
from gredkit.nn.hop_index import HopIndex
from gredkit.nn.sequences.base import Builder, SequenceExtractor


class WalkSequence(SequenceExtractor):
    """At place k stands a weighted sum over the walks of k steps, computed step by step, without a list of members."""

    def forward(self, batch: Data) -> HopIndex:
        return HopIndex.of_walks(batch)

    def aggregator(self, build: Builder) -> Builder:
        def built(dim: int) -> WalkSums:
            if not isinstance(found := build(dim), SumAggregator):
                raise UserError(
                    f"{type(self).__name__} has weighted sums at its places and no sets that {type(found).__name__} "
                    f"could read: use variant.aggregator = 'sum'"
                )
            return WalkSums(self)

        return built

    @abstractmethod
    def walk(self, h: Tensor, hops: HopIndex) -> Iterator[Tensor]:
        """What 1, 2, … steps lead to, without an end. Shape: h [nodes, dim] -> [nodes, dim] each"""


class WalkSums(Aggregator):
    """The rows at all places of all sequences; the last row, of the empty set, is zero.

    Shape: h [nodes, dim] -> [nodes * (K + 1) + 1, dim]
    """

    def __init__(self, sequence: WalkSequence):
        super().__init__()
        self.sequence = sequence

    def forward(self, h: Tensor, hops: HopIndex) -> Tensor:
        further = zip(range(hops.num_sets // max(len(h), 1) - 1), self.sequence.walk(h, hops), strict=False)
        rows = [h, *(row for _, row in further)]
        return torch.cat([torch.stack(rows, 1).flatten(0, 1), h.new_zeros(1, h.shape[1])])


def degrees(h: Tensor, hops: HopIndex) -> Tensor:
    """The number of neighbours of each node. Shape: -> [nodes, 1], of the type of h"""
    return hops.steps_from.start.diff().to(h.dtype)[:, None]
