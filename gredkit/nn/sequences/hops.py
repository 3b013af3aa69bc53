from torch_geometric.data import Data

from gredkit.data.hops.structure import Hops
from gredkit.data.structures import Structure
from gredkit.nn.hop_index import HopIndex
from gredkit.nn.sequences.base import SequenceExtractor
from gredkit.registry import SEQUENCES


@SEQUENCES.register("hops")
class HopSequence(SequenceExtractor):
    """The nodes at distance k, as in the paper. Shape: batch -> the index of its sequences"""

    def needs(self, K: int | None) -> list[Structure]:
        return [Hops(K)]

    def forward(self, batch: Data) -> HopIndex:
        return HopIndex.of(batch)
