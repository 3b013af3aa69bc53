from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.nn import GINConv, GINEConv

from gredkit import ranges
from gredkit.data.task import GraphSpec
from gredkit.nn.dense import Dense
from gredkit.nn.models.base import Component, GraphModel, head
from gredkit.registry import MODELS


@MODELS.register("gin")
class GIN(GraphModel):
    """Graph isomorphism network: sums over neighbours and an MLP, layer by layer (Xu et al., ICLR 2019).

    h'_v = h_v + drop(relu(BN(MLP((1 + ε) h_v + Σ_{u∈N(v)} h_u)))); with `edge_features` the sum is over
    relu(h_u + e_uv), which is GINE (Hu et al., ICLR 2020). PyTorch Geometric's layers.

    dim: width of the rows. layers: number of layers. dropout: share of what is dropped behind each layer.
    residual: whether h_v is added to the result. learn_eps: whether ε is learned, from 0. readout: 'sum', 'mean',
    'max' or 'node'; None is what the task asks. head_layers: 2 or 1.
    Shape: batch -> [graphs, outputs], or [nodes, outputs] with readout 'node'
    """

    def __init__(
        self,
        spec: GraphSpec,
        dim: int = 72,
        layers: int = 4,
        features: Component | None = None,
        edge_features: Component | None = None,
        positional: Component = "none",
        dropout: float = 0.0,
        residual: bool = True,
        learn_eps: bool = True,
        readout: str | None = None,
        head_layers: int = 2,
    ):
        super().__init__(spec, dim, layers, features, edge_features, positional, None, readout, head_layers)
        ranges.number("dropout", dropout, lambda p: 0 <= p < 1, "a share from 0 to less than 1")
        kind = GINConv if edge_features is None else GINEConv
        self.residual = residual
        self.layers = nn.ModuleList(kind(relu_mlp(dim), train_eps=learn_eps) for _ in range(layers))
        self.norms = nn.ModuleList(nn.BatchNorm1d(dim) for _ in range(layers))
        self.relu, self.dropout = nn.ReLU(), nn.Dropout(dropout)
        self.head = head(dim, spec.outputs, head_layers)

    def forward(self, batch: Data) -> Tensor:
        h = self.encode_nodes(batch)
        edges = {} if self.edge_features is None else {"edge_attr": self.edge_features(batch.edge_attr)}
        for layer, norm in zip(self.layers, self.norms, strict=True):
            new = self.dropout(self.relu(norm(layer(h, batch.edge_index, **edges))))
            h = h + new if self.residual else new
        return self.head(self.pool(h, batch))


def relu_mlp(dim: int) -> nn.Sequential:
    """Dense(relu(Dense(x))). Shape: [items, dim] -> [items, dim]"""
    return nn.Sequential(Dense(dim, dim), nn.ReLU(), Dense(dim, dim))
