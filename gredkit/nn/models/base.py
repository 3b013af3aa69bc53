"""What a model is, and what models share: encoded features in front, a head behind."""

import copy
import inspect
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from gredkit import ranges
from gredkit.data.structures import Structure
from gredkit.data.task import Columns, GraphSpec
from gredkit.errors import UserError
from gredkit.nn.dense import GELU, Dense
from gredkit.nn.features.base import usual_features
from gredkit.nn.parameters import count_parameters
from gredkit.nn.readout import checked_readout, nodes_of, read_out
from gredkit.registry import FEATURES, POSITIONAL

Component = str | Callable[..., nn.Module]
MOST_LAYERS = 1000
MOST_HEAD_LAYERS = 3
HEADS = ("equal", "halving")


class GraphModel(nn.Module):
    """Feature encoders, a positional encoding, a readout and a head, for models that are built from them.

    A model is any `nn.Module` that is built as `Model(spec, …)` and called with a batch. Its constructor may ask for
    the parts `features`, `edge_features`, `positional`, `aggregator`, `encoder` and `sequence` by parameters of these
    names, and has defaults for all that a user may set. This class is a convenience, not a duty.
    Shape: batch -> [graphs, outputs], or [nodes, outputs] for tasks of level 'node'
    """

    def __init__(
        self,
        spec: GraphSpec,
        dim: int,
        layers: int,
        features: Component | None = None,
        edge_features: Component | None = None,
        positional: Component = "none",
        gelu: str | None = None,
        readout: str | None = None,
        head_layers: int = 2,
        edges_beside_positions: bool = False,
        edge_width: int | None = None,
    ):
        """Build what stands in front of the layers.

        spec: the columns of the graphs and the number of outputs. dim: width of the rows. layers: how many there are.
        features, edge_features, positional: the parts in front, each by its name or as anything that builds it; None
        is the usual encoder of nodes, and no encoder of edges. gelu: 'erf' or 'tanh', for all parts that have such a
        parameter; None leaves them as they are. readout: 'sum', 'mean', 'max' or 'node'; None is what the task asks.
        head_layers: dense layers of the head, 1 to 3, which are only checked here; `head` builds them.
        edges_beside_positions: whether edges get the width of node features. edge_width: their width otherwise, None
        is dim
        """
        super().__init__()
        ranges.width("dim", dim)
        ranges.whole("layers", layers, 1, MOST_LAYERS)
        ranges.whole("head_layers", head_layers, 1, MOST_HEAD_LAYERS)
        if edge_features is not None and spec.edges is None:
            raise UserError("edge_features are asked for, but these graphs carry none")
        self.dim, self.readout = dim, checked_readout(readout, spec.level)
        self.positional = with_gelu(POSITIONAL.resolve(positional), gelu)()
        if self.positional.width >= dim:
            raise UserError(f"a positional encoding of {self.positional.width} columns leaves none of dim={dim}")
        width = dim - self.positional.width
        self.features = _encoder_of(features or usual_features(spec.nodes), spec.nodes, width, gelu)
        self.edge_features = None
        if edge_features is not None:
            edge_width = width if edges_beside_positions else edge_width or dim
            self.edge_features = _encoder_of(edge_features, spec.edges, edge_width, gelu)

    def needs(self, K: int | None) -> list[Structure]:
        """What each graph must carry: the positional encodings among the parts, and what a model adds."""
        return structures_in(self)

    def prepare_batch(self, batch: Data) -> None:
        """Compute on the host what follows from the whole numbers of a batch: what `once` then remembers.

        It is only called for a batch that moves to another device.
        """
        if self.readout != "node":
            nodes = nodes_of(batch, batch.num_nodes, torch.device("cpu"))
            _ = nodes.transposed, nodes.divisor

    def encode_nodes(self, batch: Data) -> Tensor:
        """Features and position of each node. Shape: -> [nodes, dim]"""
        return self.with_positions(self.features(batch.x), batch)

    def with_positions(self, h: Tensor, batch: Data) -> Tensor:
        """Shape: [nodes, dim - positional.width] -> [nodes, dim]"""
        return torch.cat([h, self.positional(batch).to(h.dtype)], 1) if self.positional.width else h

    def pool(self, h: Tensor, batch: Data) -> Tensor:
        """Shape: [nodes, dim] -> [graphs, dim], or [nodes, dim] for readout 'node'"""
        return read_out(h, batch, self.readout)

    def extra_repr(self) -> str:
        return f"dim={self.dim}, readout={self.readout!r}, parameters={count_parameters(self):,}"


def head(dim: int, outputs: int, layers: int, gelu: str | None = None, shape: str = "equal") -> nn.Module:
    """Dense layers from a graph's or node's row to the outputs. Shape: [items, dim] -> [items, outputs]

    layers: how many. shape: 'equal' has width dim and gelu between them; 'halving' has dim/2, dim/4 … and relu, as the
    baselines of "Benchmarking GNNs" (Dwivedi et al., JMLR 2023) and of GraphGPS have.
    """
    ranges.one_of("head", shape, HEADS)
    ranges.whole("head_layers", layers, 1, MOST_HEAD_LAYERS)
    widths = [max(dim >> i, 1) if shape == "halving" else dim for i in range(layers)]
    modules: list[nn.Module] = []
    for width, following in pairwise(widths):
        modules += [Dense(width, following), nn.ReLU() if shape == "halving" else GELU(gelu)]
    last = Dense(widths[-1], outputs)
    return nn.Sequential(*modules, last) if modules else last


def heads_divide(dim: int, heads: int) -> None:
    """Check that the width can be shared among the heads."""
    ranges.whole("heads", heads, 1, 1024)
    if dim % heads:
        raise UserError(f"dim={dim} is no multiple of heads={heads}: choose a width that the heads divide")


def needs_of(model: nn.Module, K: int | None) -> list[Structure]:
    """What a model needs of each graph: as its method `needs` says or, without one, the structures among its parts."""
    own = getattr(model, "needs", None)
    return structures_in(model) if own is None else list(own(K))


def add_needs(data: Data, model: nn.Module, K: int | None) -> Data:
    """A copy of a graph (tensors are shared) with all that a model needs of it, such as its hop index.

    K: the last hop; None means the diameter, the largest distance between two connected nodes
    """
    data = copy.copy(data)
    for structure in needs_of(model, K):
        data = structure.add_to(data)
    return data


def structures_in(model: nn.Module) -> list[Structure]:
    """The parts of a model that have something to compute for each graph, each kind of entry once."""
    found = [module for module in model.modules() if isinstance(module, Structure) and module.key]
    return list({(one.key, one.label): one for one in found}.values())


def with_gelu(component: Callable[..., nn.Module], gelu: str | None) -> Callable[..., Any]:
    """The component with the model's gelu, if it has such a parameter and no value of its own."""
    own = inspect.signature(component).parameters.get("gelu")
    if gelu is None or own is None or own.default is not None:
        return component
    return partial(component, gelu=gelu)


def _encoder_of(features: Component, columns: Columns | None, width: int, gelu: str | None) -> nn.Module:
    return with_gelu(FEATURES.resolve(features), gelu)(columns, width)
