"""What models that stack message-passing layers share."""

from collections.abc import Iterator

from torch import Tensor, nn
from torch_geometric.data import Data

from gredkit import ranges
from gredkit.data.task import GraphSpec
from gredkit.nn.convolutions.feed_forward import FeedForward
from gredkit.nn.dense import Embed
from gredkit.nn.distances.all_pairs import AllPairs
from gredkit.nn.models.base import Component, GraphModel, head


class MessagePassingModel(GraphModel):
    """Encoded features, layers along the edges, each followed by a feed-forward block if wanted, readout and head.

    A model builds its `layers` (see `nn/convolutions`) after this constructor.
    Shape: batch -> [graphs, outputs], or [nodes, outputs] with readout 'node'

    edge_rows: whether the layers need a row for each edge; without edge features all edges begin with the same
    learned row, as in "Benchmarking GNNs" (Dwivedi et al., JMLR 2023). edge_width: of encoded edge
    features, None is dim
    """

    layers: nn.ModuleList

    def __init__(
        self,
        spec: GraphSpec,
        dim: int,
        layers: int,
        features: Component | None,
        edge_features: Component | None,
        positional: Component,
        dropout: float,
        ffn: bool,
        ffn_act: str,
        readout: str | None,
        head_shape: str,
        head_layers: int,
        edge_rows: bool = False,
        edge_width: int | None = None,
    ):
        super().__init__(
            spec, dim, layers, features, edge_features, positional, None, readout, head_layers, edge_width=edge_width
        )  # fmt: skip
        share_to_drop("dropout", dropout)
        self.edge_row = Embed(1, dim) if edge_rows and edge_features is None else None
        self.feed_forwards = nn.ModuleList(FeedForward(dim, ffn_act, dropout) for _ in range(layers if ffn else 0))
        self.head = head(dim, spec.outputs, head_layers, shape=head_shape)

    def forward(self, batch: Data) -> Tensor:
        h, e = self.encode_nodes(batch), self.encode_edges(batch)
        h, _ = self.propagate(h, e, batch.edge_index, self.graphs(batch))
        return self.head(self.pool(h, batch))

    def graphs(self, batch: Data) -> AllPairs | None:
        """Which nodes are in which graph, for layers that ask that."""
        return None

    def encode_edges(self, batch: Data) -> Tensor | None:
        """The rows of the edges before the first layer, if the layers read them. Shape: -> [edges, dim]"""
        if self.edge_features is not None:
            return self.edge_features(batch.edge_attr)
        return None if self.edge_row is None else self.edge_row.weight.expand(batch.edge_index.shape[1], -1)

    def propagate(
        self, h: Tensor, e: Tensor | None, edge_index: Tensor, graphs: AllPairs | None
    ) -> tuple[Tensor, Tensor | None]:
        """Through all layers. Shape: h [nodes, dim], e [edges, dim] -> h, e"""
        for after in self.steps(h, e, edge_index, graphs):
            h, e = after
        return h, e

    def steps(
        self, h: Tensor, e: Tensor | None, edge_index: Tensor, graphs: AllPairs | None
    ) -> Iterator[tuple[Tensor, Tensor | None]]:
        """The rows of nodes and edges behind each layer."""
        for i, layer in enumerate(self.layers):
            h, e = layer(h, e, edge_index, graphs)
            if self.feed_forwards:
                h = self.feed_forwards[i](h)
            yield h, e


def share_to_drop(name: str, value: float) -> None:
    """Check a share of dropout."""
    ranges.number(name, value, lambda p: 0 <= p < 1, "a share from 0 to less than 1")
