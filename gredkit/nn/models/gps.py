from torch import nn
from torch_geometric.data import Data
from torch_geometric.nn import GINConv, GINEConv, ResGatedGraphConv

from gredkit import ranges
from gredkit.data.task import GraphSpec
from gredkit.errors import UserError
from gredkit.nn.convolutions.convolution import ConvolutionLayer
from gredkit.nn.convolutions.gated_gcn import GatedGCNLayer
from gredkit.nn.convolutions.gps import GPSLayer
from gredkit.nn.convolutions.mlp import gin_mlp
from gredkit.nn.distances.all_pairs import AllPairs
from gredkit.nn.models.base import Component, heads_divide
from gredkit.nn.models.message_passing import MessagePassingModel, share_to_drop
from gredkit.registry import MODELS

LOCALS = ("gin", "gatedgcn", "gated")


@MODELS.register("gps")
class GPS(MessagePassingModel):
    """GPS: message passing beside attention over the whole graph (Rampášek et al., NeurIPS 2022).

    The layer is `nn/convolutions/gps.py`, the same function as that of GraphGPS. `local` is the message passing:
    'gin' (with `edge_features` GINE, which reads them), 'gatedgcn' (GraphGPS' CustomGatedGCN, which also updates the
    edges) or 'gated', PyTorch Geometric's cheaper `ResGatedGraphConv`, which has no rows of edges.

    dim: width of the rows, a multiple of heads. layers: number of layers. heads: attention heads. dropout: share of
    what is dropped in each block. attention_dropout: share of attention weights that is dropped. norm: 'batch',
    'layer' or 'none'. act: 'relu' or 'gelu'. readout: 'sum', 'mean', 'max' or 'node'; None is what the task asks.
    head: 'equal' or 'halving' widths. head_layers: 1 to 3.
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
        norm: str = "batch",
        act: str = "relu",
        readout: str | None = None,
        head: str = "equal",
        head_layers: int = 2,
    ):
        ranges.one_of("local", local, LOCALS)
        super().__init__(
            spec, dim, layers, features, edge_features, positional, dropout, False, act, readout, head, head_layers,
            edge_rows=local == "gatedgcn",
        )  # fmt: skip
        heads_divide(dim, heads)
        share_to_drop("attention_dropout", attention_dropout)
        if local == "gated" and edge_features is not None:
            raise UserError("local='gated' reads no edge features: use local='gatedgcn' or 'gin', or no edge_features")
        edges = edge_features is not None
        self.layers = nn.ModuleList(
            GPSLayer(dim, _local(local, dim, edges, norm, act, dropout), heads, norm, act, dropout, attention_dropout)
            for _ in range(layers)
        )

    def graphs(self, batch: Data) -> AllPairs:
        return AllPairs.of(batch)


def _local(kind: str, dim: int, edges: bool, norm: str, act: str, dropout: float) -> nn.Module:
    if kind == "gatedgcn":
        return GatedGCNLayer(dim, norm, act, True, dropout)
    conv = ResGatedGraphConv(dim, dim) if kind == "gated" else (GINEConv if edges else GINConv)(gin_mlp(dim, act))
    return ConvolutionLayer(conv, dim, "none", "none", True, dropout)
