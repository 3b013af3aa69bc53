from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.nn import GINConv, GINEConv, GPSConv, ResGatedGraphConv

from gredkit import ranges
from gredkit.data.task import GraphSpec
from gredkit.errors import UserError
from gredkit.nn.models.base import Component, GraphModel, head
from gredkit.nn.models.gin import relu_mlp
from gredkit.registry import MODELS

LOCALS = ("gin", "gated")


@MODELS.register("gps")
class GPS(GraphModel):
    """GPS: message passing beside attention over the whole graph (Rampášek et al., NeurIPS 2022).

    PyTorch Geometric's `GPSConv` with batch norm. `local` is the message passing: 'gin' (with `edge_features` GINE,
    which reads them) or 'gated', PyTorch Geometric's `ResGatedGraphConv`, which neither normalises its gates nor
    updates edges, as GraphGPS' own layer does.

    dim: width of the rows, a multiple of heads. layers: number of layers. heads: attention heads. dropout: share of
    what is dropped in each block. attention_dropout: share of attention weights that is dropped. readout: 'sum',
    'mean', 'max' or 'node'; None is what the task asks. head_layers: 2 or 1.
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
        local: str = "gin",
        heads: int = 4,
        dropout: float = 0.0,
        attention_dropout: float = 0.5,
        readout: str | None = None,
        head_layers: int = 2,
    ):
        super().__init__(spec, dim, layers, features, edge_features, positional, None, readout, head_layers)
        ranges.one_of("local", local, LOCALS)
        ranges.whole("heads", heads, 1, 1024)
        for name, value in (("dropout", dropout), ("attention_dropout", attention_dropout)):
            ranges.number(name, value, lambda p: 0 <= p < 1, "a share from 0 to less than 1")
        if dim % heads:
            raise UserError(f"dim={dim} is no multiple of heads={heads}: choose a width that the heads divide")
        if local == "gated" and edge_features is not None:
            raise UserError("local='gated' reads no edge features: use local='gin', or no edge_features")
        self.layers = nn.ModuleList(
            GPSConv(
                dim,
                _local(local, dim, edge_features is not None),
                heads,
                dropout,
                attn_kwargs={"dropout": attention_dropout},
            )
            for _ in range(layers)
        )
        self.head = head(dim, spec.outputs, head_layers)

    def forward(self, batch: Data) -> Tensor:
        h = self.encode_nodes(batch)
        edges = {} if self.edge_features is None else {"edge_attr": self.edge_features(batch.edge_attr)}
        for layer in self.layers:
            h = layer(h, batch.edge_index, batch.batch, **edges)
        return self.head(self.pool(h, batch))


def _local(kind: str, dim: int, reads_edges: bool) -> nn.Module:
    if kind == "gated":
        return ResGatedGraphConv(dim, dim)
    return GINEConv(relu_mlp(dim)) if reads_edges else GINConv(relu_mlp(dim))
