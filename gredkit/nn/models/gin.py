import torch
from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.nn import GINConv, GINEConv

from gredkit.data.task import GraphSpec
from gredkit.nn.convolutions.convolution import ConvolutionLayer
from gredkit.nn.convolutions.mlp import gin_mlp
from gredkit.nn.dense import Dense
from gredkit.nn.models.base import Component
from gredkit.nn.models.message_passing import MessagePassingModel
from gredkit.registry import MODELS


@MODELS.register("gin")
class GIN(MessagePassingModel):
    """Graph isomorphism network: sums over neighbours and an MLP, layer by layer (Xu et al., ICLR 2019).

    h'_v = h_v + drop(relu(BN(MLP((1 + ε) h_v + Σ_{u∈N(v)} h_u)))); with `edge_features` the sum is over
    relu(h_u + e_uv), which is GINE (Hu et al., ICLR 2020). PyTorch Geometric's layers. With norm='none',
    learn_eps=False and ffn=True it is GIN+ (Luo et al., ICML 2025).

    dim: width of the rows. layers: number of layers. dropout: share of what is dropped in each block. norm: 'batch',
    'layer' or 'none', before the activation. mlp_norm: whether there is a batch norm inside the MLP too, as in
    "Benchmarking GNNs". mlp_act: 'relu' or 'gelu' inside the MLP. residual: whether h_v is added to the result. act:
    'relu', 'gelu' or 'none' behind the norm. learn_eps: whether ε is learned, from 0. ffn: whether feed-forward blocks
    follow; these have batch norms, whatever `norm` says. ffn_act: activation in them, None is `act`. readout: 'sum',
    'mean', 'max' or 'node'; None is what the task asks. head: 'equal' or 'halving' widths. head_layers: 1 to 3.
    all_layers: whether the rows before the first and behind each layer have a dense head each, whose answers are
    added, as in the paper and in "Benchmarking GNNs"; `head` then has no meaning.
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
        mlp_norm: bool = False,
        mlp_act: str = "relu",
        residual: bool = True,
        act: str = "relu",
        learn_eps: bool = True,
        ffn: bool = False,
        ffn_act: str | None = None,
        readout: str | None = None,
        head: str = "equal",
        head_layers: int = 2,
        all_layers: bool = False,
    ):
        super().__init__(
            spec, dim, layers, features, edge_features, positional, dropout, ffn, ffn_act or act, readout, head,
            head_layers,
        )  # fmt: skip
        kind = GINConv if edge_features is None else GINEConv
        self.layers = nn.ModuleList(
            ConvolutionLayer(
                kind(gin_mlp(dim, mlp_act, mlp_norm), train_eps=learn_eps), dim, norm, act, residual, dropout
            )
            for _ in range(layers)
        )  # fmt: skip
        if all_layers:
            self.head = nn.ModuleList(Dense(dim, spec.outputs) for _ in range(layers + 1))

    def forward(self, batch: Data) -> Tensor:
        if not isinstance(self.head, nn.ModuleList):
            return super().forward(batch)
        h, e = self.encode_nodes(batch), self.encode_edges(batch)
        rows = [h, *(h for h, _ in self.steps(h, e, batch.edge_index, None))]
        answers = [head(self.pool(h, batch)) for head, h in zip(self.head, rows, strict=True)]
        return torch.stack(answers).sum(0)
