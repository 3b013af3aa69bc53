import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from gredkit import ranges
from gredkit.data.connected import Connected
from gredkit.data.hops.counted import CountedHops
from gredkit.data.hops.index import FARTHEST
from gredkit.data.shortest_paths import ShortestPaths
from gredkit.data.structures import Structure
from gredkit.data.task import GraphSpec
from gredkit.errors import UserError
from gredkit.nn.distances.all_pairs import AllPairs
from gredkit.nn.distances.graphormer_layer import GraphormerLayer
from gredkit.nn.distances.path_bias import PathBias, walk
from gredkit.nn.distances.spatial_bias import SpatialBias, spatial_types
from gredkit.nn.models.base import Component, GraphModel, heads_divide
from gredkit.nn.models.base import head as head_of
from gredkit.nn.models.message_passing import share_to_drop
from gredkit.registry import FEATURES, MODELS


@MODELS.register("graphormer")
class Graphormer(GraphModel):
    """Attention over all nodes of a graph, biased by their distances (Ying et al., NeurIPS 2021; as in GraphGPS).

    h_v = features + in[edges that end in v] + out[edges that begin in v], then the layers of
    `nn/distances/graphormer_layer.py` with the bias of `nn/distances/spatial_bias.py`, a layer norm, readout and head.
    With `edge_features`, whose width is then the number of heads, the edges along one shortest path add to the bias.
    The defaults are those of GraphGPS for ZINC. Memory grows with graphs × heads × (nodes of the largest graph)².

    dim: width of the rows, a multiple of heads. layers: number of layers. heads: attention heads. num_spatial_types:
    distances from num_spatial_types - 1 on count as one; K has no effect. num_degrees: degrees from num_degrees - 1 on
    count as one. graph_token: whether each graph has one more node, at the same distance of all others; without a
    readout it gives the answer for the graph. dropout, attention_dropout, mlp_dropout: shares that are dropped in each
    layer. input_dropout: share that is dropped before the first. readout: 'sum', 'mean', 'max' or 'node'; None is
    the token's row or, without a token, what the task asks. head: 'equal' or 'halving' widths. head_layers: 1 to 3.
    Shape: batch of HopData -> [graphs, outputs], or [nodes, outputs] with readout 'node'
    """

    def __init__(
        self,
        spec: GraphSpec,
        dim: int = 80,
        layers: int = 12,
        features: Component | None = None,
        edge_features: Component | None = None,
        positional: Component = "none",
        heads: int = 8,
        num_spatial_types: int = 20,
        num_degrees: int = 64,
        graph_token: bool = True,
        dropout: float = 0.0,
        attention_dropout: float = 0.1,
        mlp_dropout: float = 0.1,
        input_dropout: float = 0.1,
        readout: str | None = None,
        head: str = "equal",
        head_layers: int = 2,
    ):
        super().__init__(spec, dim, layers, features, None, positional, None, readout, head_layers)
        heads_divide(dim, heads)
        ranges.whole("num_spatial_types", num_spatial_types, 1, FARTHEST)
        ranges.whole("num_degrees", num_degrees)
        for name, share in (("dropout", dropout), ("attention_dropout", attention_dropout),
                            ("mlp_dropout", mlp_dropout), ("input_dropout", input_dropout)):  # fmt: skip
            share_to_drop(name, share)
        self.num_spatial_types, self.num_degrees = num_spatial_types, num_degrees
        self.reads_token = graph_token and readout is None and spec.level == "graph"
        self.in_degree, self.out_degree = nn.Embedding(num_degrees, dim), nn.Embedding(num_degrees, dim)
        self.bias = SpatialBias(heads, num_spatial_types, graph_token)
        self.path = None
        if edge_features is not None:
            if spec.edges is None:
                raise UserError("edge_features are asked for, but these graphs carry none")
            self.edge_features = FEATURES.resolve(edge_features)(spec.edges, heads)
            self.path = PathBias(heads, num_spatial_types)
        self.token = nn.Parameter(torch.empty(1, dim).normal_(std=0.02)) if graph_token else None
        self.input_dropout = nn.Dropout(input_dropout)
        self.layers = nn.ModuleList(
            GraphormerLayer(dim, heads, dropout, attention_dropout, mlp_dropout) for _ in range(layers)
        )
        self.norm = nn.LayerNorm(dim)
        self.head = head_of(dim, spec.outputs, head_layers, shape=head)
        for table in (self.in_degree, self.out_degree):
            nn.init.normal_(table.weight, std=0.02)

    def needs(self, K: int | None) -> list[Structure]:
        paths = [] if self.path is None else [ShortestPaths()]
        return [CountedHops(self.num_spatial_types - 1), Connected(), *paths, *super().needs(K)]

    def forward(self, batch: Data) -> Tensor:
        pairs = AllPairs.of(batch)
        types = spatial_types(batch, pairs, self.num_spatial_types)
        bias = self.bias(types, self.along_paths(batch, pairs))
        h, token = self.propagate(self.with_degrees(self.encode_nodes(batch), batch), pairs, bias)
        if self.reads_token and token is not None:
            return self.head(self.norm(token))
        return self.head(self.pool(self.norm(h), batch))

    def with_degrees(self, h: Tensor, batch: Data) -> Tensor:
        """Shape: [nodes, dim] -> [nodes, dim]"""
        into, out_of = (occurrences(ends, len(h)).clamp(max=self.num_degrees - 1) for ends in batch.edge_index.flip(0))
        return h + self.in_degree(into) + self.out_degree(out_of)

    def along_paths(self, batch: Data, pairs: AllPairs) -> Tensor | None:
        """What edges add to the bias, if they are read. Shape: -> [graphs, nodes, nodes, heads]"""
        if self.path is None or self.edge_features is None:
            return None
        path = walk(batch, pairs, self.num_spatial_types - 1)
        return in_squares(self.path(self.edge_features(batch.edge_attr), path, pairs.count), pairs)

    def propagate(self, h: Tensor, pairs: AllPairs, bias: Tensor) -> tuple[Tensor, Tensor | None]:
        """Through all layers: the rows of nodes and of tokens. Shape: h [nodes, dim] -> [nodes, dim], [graphs, dim]"""
        before = 0 if self.token is None else 1
        rows = h.new_zeros(len(pairs.sizes), bias.shape[-1], self.dim)
        rows[pairs.graph, pairs.place + before] = h
        if self.token is not None:
            rows[:, 0] = self.token.to(h.dtype)
        # A graph without nodes attends to an empty row, which nobody reads: a softmax over nothing would be NaN.
        known = torch.arange(bias.shape[-1], device=h.device) < (pairs.size + before).clamp(min=1)[:, None]
        bias = bias.masked_fill(~known[:, None, None], -torch.inf).contiguous()  # all layers read it
        rows = self.input_dropout(rows)
        for layer in self.layers:
            rows = layer(rows, bias)
        return rows[pairs.graph, pairs.place + before], rows[:, 0] if self.token is not None else None


def occurrences(numbers: Tensor, count: int) -> Tensor:
    """How often 0, 1, …, count - 1 occur. Shape: [items] -> [count]"""
    return numbers.new_zeros(count).index_add(0, numbers, torch.ones_like(numbers))


def in_squares(values: Tensor, pairs: AllPairs) -> Tensor:
    """Values of pairs as one square per graph, as large as the largest graph. Shape: [pairs, d] -> [graphs, n, n, d]"""
    squares = values.new_zeros(len(pairs.sizes), pairs.width, pairs.width, values.shape[1])
    return squares.index_put((pairs.graph[pairs.first], pairs.place[pairs.first], pairs.place[pairs.second]), values)
