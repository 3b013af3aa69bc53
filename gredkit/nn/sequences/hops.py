from torch_geometric.data import Data

from gredkit.data.hops.structure import DirectedHops, Hops
from gredkit.data.structures import Structure
from gredkit.nn.hop_index import HopIndex
from gredkit.nn.sequences.base import SequenceExtractor
from gredkit.registry import SEQUENCES


@SEQUENCES.register("hops")
class HopSequence(SequenceExtractor):
    """The nodes at distance k, as in the paper. Shape: batch -> the index of its sequences

    directed: whether paths go along the edges only, so that hop k has the nodes from which k steps lead to the node;
        otherwise edges are read in both directions
    """

    def __init__(self, directed: bool = False):
        super().__init__()
        self.directed = directed

    def needs(self, K: int | None) -> list[Structure]:
        return [DirectedHops(K) if self.directed else Hops(K)]

    def forward(self, batch: Data) -> HopIndex:
        return HopIndex.of(batch)

    def extra_repr(self) -> str:
        return f"directed={self.directed}"
