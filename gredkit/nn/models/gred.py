from functools import partial

from torch import Tensor, nn
from torch_geometric.data import Data

from gredkit.data.structures import Structure
from gredkit.data.task import GraphSpec
from gredkit.nn.incidence import Incidence
from gredkit.nn.kernels.choice import prepare
from gredkit.nn.layer import GREDLayer, through
from gredkit.nn.models.base import Component, GraphModel, head, with_gelu
from gredkit.nn.prepared import once
from gredkit.registry import AGGREGATORS, ENCODERS, MODELS, SEQUENCES


@MODELS.register("gred")
class GRED(GraphModel):
    """GRED: feature encoder, layers that read hops from far to near, readout and head.

    Components are given by name, or as anything that builds one: `encoder=partial(LRU, mode="scan")`; the
    feature encoder is by default `categorical` or `dense`, as the nodes' columns are. With
    `edge_features` each node also receives the mean of its edges' encoded features, as the published ZINC
    model does. A positional encoding takes its columns out of `dim`.

    spec: the columns of the graphs and the number of outputs. aggregator: what makes a row of each set of nodes.
    encoder: what reads these rows in the order of their hops. sequence: which sets a node reads, such as its hops.
    dim: width of the rows. layers: number of GRED layers. expand: width of the set MLP, as a multiple of dim.
    glu: 'full', 'half' or 'none'. gelu: 'erf' or 'tanh', for all parts that have such a parameter and are not told
    another. dropout: share of what is dropped behind the encoder and behind the gate. empty_hops: 'constant' or 'zero',
    see GREDLayer. readout: 'sum', 'mean', 'max' or 'node'; None is what the task asks. head_layers: 1, 2 or 3.
    direction: 'far_to_near' or 'near_to_far'. set_mlp, norm: whether the layers have their set MLP and their norms.
    skip, set_skip: whether a layer adds the row of the node itself, and the set MLP its input. share_layers: whether
    all layers are one and the same, with the weights of one.
    Shape: batch of HopData -> [graphs, outputs], or [nodes, outputs] with readout 'node'
    """

    def __init__(
        self,
        spec: GraphSpec,
        dim: int = 72,
        layers: int = 4,
        features: Component | None = None,
        edge_features: Component | None = None,
        positional: Component = "none",
        aggregator: Component = "sum",
        encoder: Component = "lru",
        sequence: Component = "hops",
        expand: int = 1,
        glu: str = "full",
        gelu: str = "erf",
        dropout: float = 0.0,
        empty_hops: str = "constant",
        readout: str | None = None,
        head_layers: int = 2,
        direction: str = "far_to_near",
        set_mlp: bool = True,
        norm: bool = True,
        skip: bool = True,
        set_skip: bool = True,
        share_layers: bool = False,
    ):
        super().__init__(
            spec, dim, layers, features, edge_features, positional, gelu, readout, head_layers,
            edges_beside_positions=True,
        )  # fmt: skip
        self.sequence = with_gelu(SEQUENCES.resolve(sequence), gelu)()
        aggregator = self.sequence.aggregator(with_gelu(AGGREGATORS.resolve(aggregator), gelu))
        encoder = with_gelu(ENCODERS.resolve(encoder), gelu)
        layer = partial(
            GREDLayer, dim, aggregator, encoder, expand, glu, gelu, dropout, empty_hops, direction, set_mlp, norm, skip,
            set_skip,
        )  # fmt: skip
        self.layers = nn.ModuleList([layer()] * layers if share_layers else [layer() for _ in range(layers)])
        self.head = head(dim, spec.outputs, head_layers, gelu)

    def needs(self, K: int | None) -> list[Structure]:
        return [*self.sequence.needs(K), *super().needs(K)]

    def prepare_batch(self, batch: Data) -> None:
        super().prepare_batch(batch)
        if next(self.sequence.parameters(), None) is None:
            prepare(self.layers, self.sequence(batch))
        if self.edge_features is not None:
            by_node = edges_to(batch, batch.num_nodes)
            _ = by_node.transposed, by_node.divisor

    def forward(self, batch: Data) -> Tensor:
        hops = self.sequence(batch)
        h = self.encode_features(batch)
        return self.head(self.pool(through(self.layers, h, hops), batch))

    def encode_features(self, batch: Data) -> Tensor:
        """What the first layer reads. Shape: -> [nodes, dim]"""
        h = self.features(batch.x)
        if self.edge_features is not None:
            h = h + mean_of_edges(self.edge_features(batch.edge_attr), edges_to(batch, len(h)))
        return self.with_positions(h, batch)


def edges_to(batch: Data, num_nodes: int) -> Incidence:
    """[nodes x edges] the edges that end in each node."""
    ends = batch.edge_index
    return once(batch, "edges", (ends,), lambda: Incidence.by_column(ends[1], num_nodes))


def mean_of_edges(edges: Tensor, by_node: Incidence) -> Tensor:
    """The mean of the edges that end in a node, zero where none does. Shape: [edges, d] -> [nodes, d]"""
    return by_node.sum(edges) / by_node.divisor
