"""GPS, a graph transformer, as PyTorch Geometric offers it: a rival that is no GRED."""

from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.nn import GINEConv, GPSConv, ResGatedGraphConv, global_add_pool, global_mean_pool

from gredkit.data.task import GraphSpec
from gredkit.nn.features.base import usual_features
from gredkit.registry import FEATURES

HEADS, ATTENTION_DROPOUT = 4, 0.5  # in all published configurations of ZINC, Peptides and CIFAR10


class GPS(nn.Module):
    """Layers of message passing beside attention over the whole graph, batch norm, and a head of three layers.

    `local` is 'gine', which reads edges, or 'gated', PyTorch Geometric's form that does not, where the published
    models also update edges. Left out as well are the positional encodings that they add to their input. Both
    would only make it slower. The head is that of the published ZINC model; those of Peptides and CIFAR10 have one
    or two layers fewer, which is nothing beside the rest.
    Shape: batch -> [graphs, outputs]
    """

    def __init__(self, spec: GraphSpec, dim: int, layers: int, local: str, readout: str):
        super().__init__()
        self.features = FEATURES[usual_features(spec.nodes)](spec.nodes, dim)
        self.edges = FEATURES[usual_features(spec.edges)](spec.edges, dim) if local == "gine" and spec.edges else None
        self.layers = nn.ModuleList(
            GPSConv(dim, _local(local, dim), HEADS, attn_kwargs={"dropout": ATTENTION_DROPOUT}) for _ in range(layers)
        )
        self.pool = {"sum": global_add_pool, "mean": global_mean_pool}[readout]
        self.head = nn.Sequential(
            nn.Linear(dim, dim // 2), nn.ReLU(),
            nn.Linear(dim // 2, dim // 4), nn.ReLU(),
            nn.Linear(dim // 4, spec.outputs),
        )  # fmt: skip

    def forward(self, batch: Data) -> Tensor:
        h = self.features(batch.x)
        edges = {"edge_attr": self.edges(batch.edge_attr)} if self.edges is not None else {}
        for layer in self.layers:
            h = layer(h, batch.edge_index, batch.batch, **edges)
        return self.head(self.pool(h, batch.batch))


def _local(kind: str, dim: int) -> nn.Module:
    if kind == "gine":
        return GINEConv(nn.Sequential(nn.Linear(dim, dim), nn.ReLU(), nn.Linear(dim, dim)))
    return ResGatedGraphConv(dim, dim)
