"""GatedGCN as GraphGPS has it, and the layers of GNN+ (GNNPlus): one linear or MLP layer and perhaps its FFN block."""

from collections.abc import Mapping
from functools import partial

import numpy as np
from golden.baselines.vectors import Baseline, Outputs
from torch import Tensor, nn

from gredkit import GraphSpec
from gredkit.nn.models.gatedgcn import GatedGCN
from gredkit.nn.models.gcn import GCN
from gredkit.nn.models.gin import GIN
from gredkit.nn.models.message_passing import MessagePassingModel

FFN = {"norm1_local": "first_norm", "norm2": "last_norm", "ff_linear1": "up", "ff_linear2": "down"}
GATED = {"A": "own", "B": "value", "C": "edge", "D": "target", "E": "source"}
GATED |= {"bn_node_x": "node_norm", "bn_edge_e": "edge_norm"}


def gated_gcn(config: Mapping, file: Mapping[str, np.ndarray]) -> Baseline:
    plus = config.get("layer") == "gatedgcn"  # there the activation of the layer itself is always relu
    switches = {"act": "relu", "ffn": config["ffn"], "ffn_act": config["act"]} if plus else {"act": config["act"]}
    model = GatedGCN(spec(config), config["dim"], config["layers"], residual=config["residual"], **switches)
    return Baseline(stack_of(model), partial(ours, GATED), partial(through, model))


def gcn(config: Mapping, file: Mapping[str, np.ndarray]) -> Baseline:
    """Kinds `gcn` and `gcne`, which reads edges."""
    switches = {"residual": config["residual"], "act": config["act"], "ffn": config["ffn"]}
    edges = "dense" if config["layer"] == "gcne" else None
    model = GCN(spec(config), config["dim"], config["layers"], edge_features=edges, **switches)
    names = {"model.lin": "conv.lin", "model": "conv", "bn_node_x": "norm"}
    return Baseline(stack_of(model), partial(ours, names), partial(through, model))


def gin(config: Mapping, file: Mapping[str, np.ndarray]) -> Baseline:
    switches = {"residual": config["residual"], "ffn": config["ffn"], "ffn_act": config["act"]}
    model = GIN(
        spec(config), config["dim"], config["layers"], edge_features="dense", norm="none", learn_eps=False, **switches
    )  # fmt: skip
    names = {"model.nn.0": "conv.nn.0", "model.nn.2": "conv.nn.2", "model": "conv"}
    return Baseline(stack_of(model), partial(ours, names), partial(through, model))


def spec(config: Mapping) -> GraphSpec:
    return GraphSpec(nodes=config["dim"], outputs=1, edges=config["dim"], level="node")


def stack_of(model: MessagePassingModel) -> nn.ModuleDict:
    """The part of a model that the files have: without feature encoders and head."""
    return nn.ModuleDict({"layers": model.layers, "feed_forwards": model.feed_forwards})


def through(model: MessagePassingModel, given: Mapping[str, Tensor]) -> Outputs:
    return Outputs(*model.propagate(given["x"], given.get("edge_attr"), given["edge_index"], None))


def ours(modules: Mapping[str, str], theirs: str) -> str:
    """`0.ff_linear1.weight` is `feed_forwards.0.up.weight`, `0.A.weight` is `layers.0.own.weight`."""
    layer, _, rest = theirs.partition(".")
    module, _, leaf = rest.rpartition(".")
    place = f"feed_forwards.{layer}.{FFN[module]}" if module in FFN else f"layers.{layer}.{modules.get(module, module)}"
    return f"{place}.{leaf}"
