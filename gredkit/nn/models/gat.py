from torch import nn
from torch_geometric.nn import GATConv

from gredkit.data.task import GraphSpec
from gredkit.nn.convolutions.convolution import ConvolutionLayer
from gredkit.nn.models.base import Component, heads_divide
from gredkit.nn.models.message_passing import MessagePassingModel
from gredkit.registry import MODELS


@MODELS.register("gat")
class GAT(MessagePassingModel):
    """Graph attention network: weighted means over neighbours, the weights learned (Veličković et al., ICLR 2018).

    h'_v = h_v + drop(elu(BN(Σ_u α_uv W h_u))), α_uv = softmax_u leaky_relu(a · W h_u + b · W h_v (+ c · E e_uv)), in
    each of several heads: PyTorch Geometric's layer. `edge_features` take part in the weights.

    dim: width of the rows, a multiple of heads. layers: number of layers. heads: attention heads. self_loops: whether
    a node attends to itself too, as in the paper; not so in "Benchmarking GNNs". dropout: share of what is dropped in
    each block. norm: 'batch', 'layer' or 'none'. residual: whether h_v is added to the result. act: 'elu', 'relu' or
    'gelu' in the layers. ffn: whether the feed-forward blocks of GNN+ follow; these have batch norms, whatever `norm`
    says. ffn_act: activation in them, None is `act`. readout: 'sum', 'mean', 'max' or 'node'; None is what the task
    asks. head: 'equal' or 'halving' widths. head_layers: 1 to 3.
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
        heads: int = 8,
        self_loops: bool = True,
        dropout: float = 0.0,
        norm: str = "batch",
        residual: bool = True,
        act: str = "elu",
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
        heads_divide(dim, heads)
        attention = {
            "heads": heads,
            "edge_dim": None if edge_features is None else dim,
            "add_self_loops": self_loops,
            "bias": norm != "batch",  # which a batch norm would subtract again
        }
        self.layers = nn.ModuleList(
            ConvolutionLayer(GATConv(dim, dim // heads, **attention), dim, norm, act, residual, dropout)
            for _ in range(layers)
        )
