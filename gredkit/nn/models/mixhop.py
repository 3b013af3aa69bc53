from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.nn import MixHopConv

from gredkit import ranges
from gredkit.data.task import GraphSpec
from gredkit.nn.convolutions.convolution import ConvolutionLayer
from gredkit.nn.models.base import Component, head
from gredkit.nn.models.message_passing import MessagePassingModel
from gredkit.registry import MODELS


@MODELS.register("mixhop")
class MixHop(MessagePassingModel):
    """MixHop: every layer reads several powers of the normalised adjacency matrix (Abu-El-Haija et al., ICML 2019).

    h' = act(BN([Â^0 h W_0, …, Â^{P-1} h W_{P-1}] + b)), Â with self-loops: PyTorch Geometric's layer, as in the
    baselines of DRew (Gutteridge et al., ICML 2023). Each power gives `dim` columns, so the rows between layers have
    P · dim; a dense layer with relu brings them back to dim before the readout. There are no residual connections, and
    edge features are not read.

    dim: columns of each power. layers: number of layers. powers: P, the number of powers. dropout: share of what is
    dropped behind each layer. norm: 'batch', 'layer' or 'none'. act: 'relu' or 'gelu'. readout: 'sum', 'mean', 'max'
    or 'node'; None is what the task asks. head: 'equal' or 'halving' widths. head_layers: 1 to 3, of which the dense
    layer before the readout is one; with 1 there is none, and the head reads P · dim columns.
    Shape: batch -> [graphs, outputs], or [nodes, outputs] with readout 'node'
    """

    def __init__(
        self,
        spec: GraphSpec,
        dim: int = 72,
        layers: int = 4,
        features: Component | None = None,
        positional: Component = "none",
        powers: int = 3,
        dropout: float = 0.0,
        norm: str = "batch",
        act: str = "relu",
        readout: str | None = None,
        head: str = "equal",
        head_layers: int = 2,
    ):
        super().__init__(
            spec, dim, layers, features, None, positional, dropout, False, "relu", readout, head, head_layers
        )  # fmt: skip
        ranges.whole("powers", powers, 1, 64)
        wide = powers * dim
        self.layers = nn.ModuleList(
            ConvolutionLayer(
                MixHopConv(wide if i else dim, dim, powers=list(range(powers))), wide, norm, act, False, dropout
            )
            for i in range(layers)
        )  # fmt: skip
        self.narrow, self.head = _narrow_and_head(dim, wide, spec.outputs, head, head_layers)

    def forward(self, batch: Data) -> Tensor:
        h, _ = self.propagate(self.encode_nodes(batch), None, batch.edge_index, None)
        return self.head(self.pool(self.narrow(h), batch))


def _narrow_and_head(dim: int, wide: int, outputs: int, shape: str, layers: int) -> tuple[nn.Module, nn.Module]:
    if layers == 1:
        return nn.Identity(), head(wide, outputs, 1)
    return nn.Sequential(nn.Linear(wide, dim), nn.ReLU()), head(dim, outputs, layers - 1, shape=shape)
