from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.nn import SAGEConv, global_mean_pool

from gredkit import GraphSpec
from gredkit.registry import FEATURES, MODELS


@MODELS.register("two_looks")
class TwoLooks(nn.Module):
    """GraphSAGE with as many layers as asked for: a model of one's own in one file."""

    def __init__(self, spec: GraphSpec, dim: int = 32, layers: int = 2, features: str = "categorical"):
        super().__init__()
        self.level = spec.level
        self.features = FEATURES.resolve(features)(spec.nodes, dim)
        self.layers = nn.ModuleList(SAGEConv(dim, dim) for _ in range(layers))
        self.head = nn.Linear(dim, spec.outputs)

    def forward(self, batch: Data) -> Tensor:
        h = self.features(batch.x)
        for layer in self.layers:
            h = h + layer(h, batch.edge_index).relu()
        return self.head(h if self.level == "node" else global_mean_pool(h, batch.batch))
