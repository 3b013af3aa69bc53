import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from gredkit import ranges
from gredkit.data.task import GraphSpec
from gredkit.nn.distances.all_pairs import AllPairs
from gredkit.nn.distances.grit_layer import GRITLayer
from gredkit.nn.distances.rrwp import ORIENTATIONS, adjacency, rrwp
from gredkit.nn.models.base import Component, GraphModel, heads_divide
from gredkit.nn.models.base import head as head_of
from gredkit.nn.models.message_passing import share_to_drop
from gredkit.registry import MODELS


@MODELS.register("grit")
class GRIT(GraphModel):
    """GRIT: attention over all pairs of nodes, which begin with random-walk probabilities (Ma et al., ICML 2023).

    R_ij = (I, P, …, P^(rrwp-1))_ij, P = D^-1 A;  h_i = features + N R_ii;  e_ij = M R_ij (+ the features of the edge),
    then the layers of `nn/distances/grit_layer.py`. A positional encoding is not needed. Memory and time grow with the
    sum of nodes² × dim. The defaults are the published model for ZINC, if `head` is 'halving' with 3 layers.

    dim: width of the rows, a multiple of heads. layers: number of layers. heads: attention heads. rrwp: how many powers
    of P are read, the identity among them. orientation: 'target_row' has the walk from target to source, as the
    published code has since December 2024; 'source_row' the walk from source to target, as it had at the time of the
    paper. dropout: share of what is dropped in each block. attention_dropout: share of the attention weights. readout:
    'sum', 'mean', 'max' or 'node'; None is what the task asks. head: 'equal' or 'halving' widths. head_layers: 1 to 3.
    Shape: batch -> [graphs, outputs], or [nodes, outputs] with readout 'node'
    """

    def __init__(
        self,
        spec: GraphSpec,
        dim: int = 64,
        layers: int = 10,
        features: Component | None = None,
        edge_features: Component | None = None,
        positional: Component = "none",
        heads: int = 8,
        rrwp: int = 21,
        orientation: str = "target_row",
        dropout: float = 0.0,
        attention_dropout: float = 0.2,
        readout: str | None = None,
        head: str = "equal",
        head_layers: int = 2,
    ):
        super().__init__(spec, dim, layers, features, edge_features, positional, None, readout, head_layers)
        heads_divide(dim, heads)
        ranges.whole("rrwp", rrwp, 1, 1000)
        ranges.one_of("orientation", orientation, ORIENTATIONS)
        share_to_drop("dropout", dropout)
        share_to_drop("attention_dropout", attention_dropout)
        self.rrwp, self.orientation = rrwp, orientation
        self.node_walks, self.pair_walks = nn.Linear(rrwp, dim, bias=False), nn.Linear(rrwp, dim, bias=False)
        for walks in (self.node_walks, self.pair_walks):
            nn.init.xavier_uniform_(walks.weight)
        self.layers = nn.ModuleList(GRITLayer(dim, heads, dropout, attention_dropout) for _ in range(layers))
        self.head = head_of(dim, spec.outputs, head_layers, shape=head)

    def forward(self, batch: Data) -> Tensor:
        edges = None if self.edge_features is None else self.edge_features(batch.edge_attr)
        h, _ = self.propagate(self.encode_nodes(batch), edges, batch, AllPairs.of(batch))
        return self.head(self.pool(h, batch))

    def propagate(
        self, h: Tensor, edges: Tensor | None, batch: Data, pairs: AllPairs, to_the_end: bool = False
    ) -> tuple[Tensor, Tensor]:
        """Through all layers; the first of a pair is the target.

        to_the_end: whether the last layer also updates the pairs, which nobody reads any more
        Shape: h [nodes, dim], edges [edges, dim] -> [nodes, dim], [pairs, dim]
        """
        A = adjacency(batch, pairs, h.dtype)
        log_degree = A.sum(2)[pairs.graph, pairs.place].log1p()
        walks = rrwp(A, pairs, self.rrwp, self.orientation)
        node = torch.arange(len(h), device=h.device)
        h = h + self.node_walks(walks[pairs.number(node, node)])
        e = self.pair_walks(walks)
        if edges is not None:
            source, target = batch.edge_index
            e = e.index_add(0, pairs.number(target, source), edges.to(e.dtype))
        for i, layer in enumerate(self.layers, 1):
            h, e = layer(h, e, log_degree, pairs, is_last=i == len(self.layers) and not to_the_end)
        return h, e
