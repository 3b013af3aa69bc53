from typing import Literal

from torch import Tensor, nn
from torch_geometric.data import Data

from gredkit import ranges
from gredkit.data.hops.counted import CountedHops
from gredkit.data.hops.index import FARTHEST
from gredkit.data.structures import Structure
from gredkit.data.task import GraphSpec
from gredkit.nn.distances.drew_layer import DRewLayer, hop_graphs
from gredkit.nn.models.base import Component, GraphModel
from gredkit.nn.models.base import head as head_of
from gredkit.nn.models.gred import edges_to, mean_of_edges
from gredkit.nn.models.message_passing import share_to_drop
from gredkit.registry import MODELS

RELEASES = ("graph", "batch")


@MODELS.register("drew")
class DRew(GraphModel):
    """DRew-GCN: each layer hears one hop farther than the one before, and far hops late (Gutteridge et al., ICML 2023).

    The layer is `nn/distances/drew_layer.py`. It reads no edges; with `edge_features` each node also receives the mean
    of its edges' encoded features, as in `gred`.

    Each hop is a graph with self-loops, so a node with nobody at distance k hears of itself. In the published code this
    depends on the batch: a hop is left out if no graph of the batch has a pair at that distance, and as soon as one
    has, all nodes of all graphs hear of themselves. That is release='batch'. With 'graph', the default, each graph
    decides for itself, so its result does not depend on its company, and is what the published code computes for a
    batch of this graph alone.

    dim: width of the rows. layers: number of layers. nu: ν, hop k arrives max(k - ν, 0) layers late; 'inf' is no delay.
    hops: the last hop; None is the number of layers. What is beyond K is not read. release: 'graph' or 'batch'.
    dropout: share of each message that is dropped. readout: 'sum', 'mean' (as published), 'max' or 'node'; None is what
    the task asks. head: 'equal' or 'halving' widths. head_layers: 1 to 3.
    Shape: batch of HopData -> [graphs, outputs], or [nodes, outputs] with readout 'node'
    """

    def __init__(
        self,
        spec: GraphSpec,
        dim: int = 64,
        layers: int = 7,
        features: Component | None = None,
        edge_features: Component | None = None,
        positional: Component = "none",
        nu: int | Literal["inf"] = 1,
        hops: int | None = None,
        release: str = "graph",
        dropout: float = 0.0,
        readout: str | None = None,
        head: str = "equal",
        head_layers: int = 2,
    ):
        super().__init__(
            spec, dim, layers, features, edge_features, positional, None, readout, head_layers,
            edges_beside_positions=True,
        )  # fmt: skip
        if nu != "inf":
            ranges.whole("nu, a number of layers or 'inf',", nu)
        if hops is not None:
            ranges.whole("hops", hops, 1, FARTHEST)
        ranges.one_of("release", release, RELEASES)
        share_to_drop("dropout", dropout)
        self.hops, self.release = min(hops or layers, layers), release
        self.layers = nn.ModuleList(DRewLayer(dim, min(t + 1, self.hops), nu, dropout) for t in range(layers))
        self.head = head_of(dim, spec.outputs, head_layers, shape=head)

    def needs(self, K: int | None) -> list[Structure]:
        return [CountedHops(self.hops if K is None else min(K, self.hops)), *super().needs(K)]

    def forward(self, batch: Data) -> Tensor:
        h = self.features(batch.x)
        if self.edge_features is not None:
            h = h + mean_of_edges(self.edge_features(batch.edge_attr), edges_to(batch, len(h)))
        return self.head(self.pool(self.propagate(self.with_positions(h, batch), batch), batch))

    def propagate(self, h: Tensor, batch: Data) -> Tensor:
        """Through all layers. Shape: [nodes, dim] -> [nodes, dim]"""
        graphs, states = hop_graphs(batch, self.hops, self.release, h.dtype), [h]
        for layer in self.layers:
            states.append(layer(states, graphs))
        return states[-1]
