from torch_geometric.data import Data

from gredkit import ranges
from gredkit.data.hops.random import RandomHops
from gredkit.data.structures import Structure
from gredkit.nn.hop_index import HopIndex
from gredkit.nn.sequences.base import SequenceExtractor
from gredkit.registry import SEQUENCES


@SEQUENCES.register("random_hops")
class RandomHopSequence(SequenceExtractor):
    """As many nodes as there are at distance k, but drawn at random: the control without distances.

    Each node keeps the sizes of its hops, and no node stands at two places. The draw depends on the graph (its edges,
    its features and the order of its nodes) and on `seed`, not on the seed of a trial.
    Shape: batch -> the index of its sequences

    seed: another one gives another draw
    """

    def __init__(self, seed: int = 0):
        super().__init__()
        ranges.seed(seed, "seed")
        self.seed = seed

    def needs(self, K: int | None) -> list[Structure]:
        return [RandomHops(K, self.seed)]

    def forward(self, batch: Data) -> HopIndex:
        return HopIndex.of(batch)

    def extra_repr(self) -> str:
        return f"seed={self.seed}"
