from torch import nn
from torch_geometric.nn import GCNConv

from gredkit.data.task import GraphSpec
from gredkit.nn.convolutions.convolution import ConvolutionLayer
from gredkit.nn.convolutions.gcne import GCNEConv
from gredkit.nn.models.base import Component
from gredkit.nn.models.message_passing import MessagePassingModel
from gredkit.registry import MODELS


@MODELS.register("gcn")
class GCN(MessagePassingModel):
    """Graph convolutions: means over neighbours, weighted by degrees (Kipf and Welling, ICLR 2017).

    h'_v = h_v + drop(act(BN(b + Σ_{u ∈ N(v) ∪ {v}} W h_u / √(d_u d_v)))), d = degree + 1: PyTorch Geometric's layer.
    With `edge_features` the sum is Σ_{u ∈ N(v)} relu(W h_u + e_uv), the kind that most published configurations of
    GCN+ use. With ffn=True each layer is followed by the feed-forward block of GNN+: GCN+ (Luo et al., ICML 2025).

    dim: width of the rows. layers: number of layers. dropout: share of what is dropped in each block. norm: 'batch',
    'layer' or 'none'. residual: whether h_v is added to the result. act: 'relu' or 'gelu' in the layers. ffn: whether
    feed-forward blocks follow; these have batch norms, whatever `norm` says. ffn_act: activation in them, None is
    `act`. readout: 'sum', 'mean', 'max' or 'node'; None is what the task asks. head: 'equal' or 'halving' widths.
    head_layers: 1 to 3.
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
        norm: str = "batch",
        residual: bool = True,
        act: str = "relu",
        ffn: bool = False,
        ffn_act: str | None = None,
        readout: str | None = None,
        head: str = "equal",
        head_layers: int = 2,
    ):
        super().__init__(
            spec, dim, layers, features, edge_features, positional, dropout, ffn, ffn_act or act, readout, head,
            head_layers,
        )  # fmt: skip
        self.layers = nn.ModuleList(
            ConvolutionLayer(
                GCNConv(dim, dim) if edge_features is None else GCNEConv(dim), dim, norm, act, residual, dropout
            )
            for _ in range(layers)
        )
