from collections.abc import Iterable

import torch
from torch import nn
from torch_geometric.data import Data
from torch_geometric.utils import degree

from gredkit import ranges
from gredkit.data.task import GraphSpec
from gredkit.errors import UserError
from gredkit.nn.convolutions.pna import PNALayer
from gredkit.nn.models.base import Component
from gredkit.nn.models.message_passing import MessagePassingModel
from gredkit.registry import MODELS


@MODELS.register("pna")
class PNA(MessagePassingModel):
    """Principal neighbourhood aggregation: several statistics of the neighbours, scaled by degree (Corso et al., 2020).

    The layer is `nn/convolutions/pna.py`. It compares degrees with those of the training graphs, which the model sees
    once before training (`calibrate`) and stores with its weights.

    dim: width of the rows, a multiple of towers. layers: number of layers. towers: parts of the columns that are
    aggregated by themselves. edge_dim: width of the encoded edge features, None is dim. dropout: share of what is
    dropped behind the norm. norm: 'batch', 'layer' or 'none'. residual: whether what a layer reads is added to its
    result. readout: 'sum', 'mean', 'max' or 'node'; None is what the task asks. head: 'equal' or 'halving' widths.
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
        towers: int = 1,
        edge_dim: int | None = None,
        dropout: float = 0.0,
        norm: str = "batch",
        residual: bool = True,
        readout: str | None = None,
        head: str = "equal",
        head_layers: int = 2,
    ):
        if edge_dim is not None:
            ranges.width("edge_dim", edge_dim)
        super().__init__(
            spec, dim, layers, features, edge_features, positional, dropout, False, "relu", readout, head,
            head_layers, edge_width=edge_dim,
        )  # fmt: skip
        ranges.whole("towers", towers, 1, 1024)
        if dim % towers:
            raise UserError(f"dim={dim} is no multiple of towers={towers}: choose a width that the towers divide")
        width = 0 if edge_features is None else edge_dim or dim
        self.layers = nn.ModuleList(PNALayer(dim, towers, width, norm, residual, dropout) for _ in range(layers))

    def calibrate(self, graphs: Iterable[Data]) -> None:
        """Measure the degrees of the training graphs."""
        degrees = torch.cat([degree(graph.edge_index[1], graph.num_nodes, torch.double) for graph in graphs])
        for layer in self.layers:
            layer.mean_log_degree.fill_(max((degrees + 1).log().mean().item(), 1e-6))  # type: ignore[operator]
