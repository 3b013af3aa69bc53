import torch
from torch import Tensor
from torch_geometric.data import Data

from gredkit.data.hops.edges import HopsWithEdges
from gredkit.data.structures import Structure
from gredkit.nn.aggregators.base import Aggregator
from gredkit.nn.dense import GELU, Dense
from gredkit.nn.hop_index import HopIndex
from gredkit.nn.sequences.base import Builder, SequenceExtractor
from gredkit.registry import SEQUENCES


@SEQUENCES.register("hops_with_edges")
class HopWithEdgesSequence(SequenceExtractor):
    """The nodes at distance k, the edges among them, and the edges from them to distance k + 1.

    Sets of nodes at a distance do not show how these nodes are connected, and so cannot tell some graphs apart; with
    its edges a hop also has what KP-GNN calls peripheral edges (Feng et al., NeurIPS 2022). Edges are further members
    of a set, for any aggregator; both of their ends are at distance K at most.
    Shape: batch -> the index of its sequences

    gelu: 'erf' or 'tanh'; None is the model's
    """

    def __init__(self, gelu: str | None = None):
        super().__init__()
        self.gelu = gelu

    def needs(self, K: int | None) -> list[Structure]:
        return [HopsWithEdges(K)]

    def forward(self, batch: Data) -> HopIndex:
        return HopIndex.with_edges(batch)

    def aggregator(self, build: Builder) -> Builder:
        return lambda dim: WithEdges(dim, build, self.gelu)


class WithEdges(Aggregator):
    """Any aggregator over nodes and edges; the row of an edge is made of the rows of its ends.

    inside a hop: gelu(W (h_a + h_b) + c);  from a to b in the next hop: gelu(W' [h_a, h_b] + c')
    Shape: h [nodes, dim] -> [sets + 1, dim]
    """

    def __init__(self, dim: int, build: Builder, gelu: str | None = None):
        super().__init__()
        self.aggregator = build(dim)
        self.inside, self.onwards = Dense(dim, dim), Dense(2 * dim, dim)
        self.gelu = GELU(gelu)

    def forward(self, h: Tensor, hops: HopIndex) -> Tensor:
        assert hops.links is not None
        a, b = h[hops.links[0]], h[hops.links[1]]
        edges = [self.inside(a + b), self.onwards(torch.cat([a, b], 1)), self.onwards(torch.cat([b, a], 1))]
        return self.aggregator(torch.cat([h, self.gelu(torch.cat(edges)).to(h.dtype)]), hops)
