from torch import nn

from gredkit.data.task import GraphSpec
from gredkit.nn.convolutions.gated_gcn import GatedGCNLayer
from gredkit.nn.models.base import Component
from gredkit.nn.models.message_passing import MessagePassingModel
from gredkit.registry import MODELS


@MODELS.register("gatedgcn")
class GatedGCN(MessagePassingModel):
    """Gated graph convolutions that also update the edges (Bresson and Laurent, 2017).

    The layer is `nn/convolutions/gated_gcn.py`. Without `edge_features` all edges begin with the same learned row.
    With ffn=True each layer is followed by the feed-forward block of GNN+: GatedGCN+ (Luo et al., ICML 2025).

    dim: width of the rows. layers: number of layers. dropout: share of what is dropped in each block. norm: 'batch',
    'layer' or 'none'. residual: whether what a layer reads is added to its result. act: 'relu' or 'gelu' in the
    layers. ffn: whether feed-forward blocks follow; these have batch norms, whatever `norm` says. ffn_act: activation
    in them, None is `act`. readout: 'sum', 'mean', 'max' or 'node'; None is what the task asks. head: 'equal' or
    'halving' widths. head_layers: 1 to 3.
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
            head_layers, edge_rows=True,
        )  # fmt: skip
        self.layers = nn.ModuleList(GatedGCNLayer(dim, norm, act, residual, dropout) for _ in range(layers))
