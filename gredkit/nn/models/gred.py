import inspect
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from gredkit import ranges
from gredkit.data.task import GraphSpec
from gredkit.errors import UserError
from gredkit.nn.dense import Dense, gelu_mlp
from gredkit.nn.features.base import usual_features
from gredkit.nn.hop_index import HopIndex
from gredkit.nn.incidence import Incidence
from gredkit.nn.layer import GREDLayer, through
from gredkit.registry import AGGREGATORS, ENCODERS, FEATURES, MODELS, POSITIONAL

Component = str | Callable[..., nn.Module]
READOUTS = ("sum", "mean", "node")
MOST_LAYERS = 1000


@MODELS.register("gred")
class GRED(nn.Module):
    """Feature encoder, GRED layers, readout and head.

    Components are given by name, or as anything that builds one: `encoder=partial(LRU, mode="scan")`; the
    feature encoder is by default `categorical` or `dense`, as the nodes' columns are. With
    `edge_features` each node also receives the mean of its edges' encoded features, as the published ZINC
    model does. A positional encoding takes its columns out of `dim`. `gelu` is that of all parts which have a
    parameter of this name and are not told another. The head is Dense(gelu(Dense(·))), or
    Dense(·) with `head_layers=1`.
    Shape: batch of HopData -> [graphs, outputs], or [nodes, outputs] with readout 'node'
    """

    def __init__(
        self,
        spec: GraphSpec,
        dim: int = 72,
        layers: int = 4,
        features: Component | None = None,
        edge_features: Component | None = None,
        positional: Component = "none",
        aggregator: Component = "sum",
        encoder: Component = "lru",
        expand: int = 1,
        glu: str = "full",
        gelu: str = "erf",
        dropout: float = 0.0,
        empty_hops: str = "constant",
        readout: str | None = None,
        head_layers: int = 2,
    ):
        super().__init__()
        readout = readout or ("node" if spec.level == "node" else "sum")
        ranges.one_of("readout", readout, READOUTS)
        if (readout == "node") != (spec.level == "node"):
            raise UserError(f"readout {readout!r} does not give one answer for each {spec.level}, as the task asks")
        ranges.width("dim", dim)
        ranges.whole("layers", layers, 1, MOST_LAYERS)
        ranges.whole("head_layers", head_layers, 1, 2)
        if edge_features is not None and spec.edges is None:
            raise UserError("edge_features are asked for, but these graphs carry none")
        self.dim, self.readout = dim, readout
        self.positional = _with_gelu(POSITIONAL.resolve(positional), gelu)()
        if self.positional.width >= dim:
            raise UserError(f"a positional encoding of {self.positional.width} columns leaves none of dim={dim}")
        width = dim - self.positional.width
        self.features = _with_gelu(FEATURES.resolve(features or usual_features(spec.nodes)), gelu)(spec.nodes, width)
        self.edge_features = (
            _with_gelu(FEATURES.resolve(edge_features), gelu)(spec.edges, width) if edge_features else None
        )
        aggregator = _with_gelu(AGGREGATORS.resolve(aggregator), gelu)
        encoder = _with_gelu(ENCODERS.resolve(encoder), gelu)
        self.layers = nn.ModuleList(
            GREDLayer(dim, aggregator, encoder, expand, glu, gelu, dropout, empty_hops) for _ in range(layers)
        )
        self.head = gelu_mlp(dim, dim, spec.outputs, gelu) if head_layers == 2 else Dense(dim, spec.outputs)

    def forward(self, batch: Data) -> Tensor:
        hops = HopIndex.of(batch)
        h = self.encode_features(batch)
        return self.head(self.pool(through(self.layers, h, hops), batch))

    def encode_features(self, batch: Data) -> Tensor:
        """What the first layer sees. Shape: -> [nodes, dim]"""
        h = self.features(batch.x)
        if self.edge_features is not None:
            h = h + mean_of_edges(self.edge_features(batch.edge_attr), batch.edge_index[1], len(h))
        return torch.cat([h, self.positional(batch).to(h.dtype)], 1) if self.positional.width else h

    def pool(self, h: Tensor, batch: Data) -> Tensor:
        """Shape: [nodes, dim] -> [graphs, dim], or [nodes, dim] for readout 'node'"""
        if self.readout == "node":
            return h
        ptr = batch.ptr if "ptr" in batch else torch.tensor([0, len(h)], device=h.device)
        members = Incidence(ptr, torch.arange(len(h), device=h.device), len(h))
        total = members.sum(h)
        return total / ptr.diff().clamp(min=1).to(h.dtype)[:, None] if self.readout == "mean" else total

    def extra_repr(self) -> str:
        return f"dim={self.dim}, readout={self.readout!r}, parameters={count_parameters(self):,}"


def _with_gelu(component: Callable[..., nn.Module], gelu: str) -> Callable[..., Any]:
    """The component with the model's gelu, if it has one and none of its own."""
    own = inspect.signature(component).parameters.get("gelu")
    return partial(component, gelu=gelu) if own is not None and own.default is None else component


def mean_of_edges(edges: Tensor, target: Tensor, num_nodes: int) -> Tensor:
    """The mean of the edges that end in a node, zero where none does. Shape: [edges, d] -> [nodes, d]"""
    by_target = Incidence.by_column(target, num_nodes)
    return by_target.sum(edges) / by_target.start.diff().clamp(min=1).to(edges.dtype)[:, None]


def count_parameters(module: nn.Module) -> int:
    """The number of trainable parameters."""
    return sum(p.numel() for p in module.parameters() if p.requires_grad)
