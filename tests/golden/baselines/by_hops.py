"""SPN and DRew-GCN, which read the hop index."""

import re
from collections.abc import Mapping
from functools import partial

import numpy as np
import torch
from golden.baselines.batches import batch_of, distances
from golden.baselines.vectors import Baseline, Outputs
from torch import Tensor

from gredkit import GraphSpec
from gredkit.data.hops.counted import CountedHops
from gredkit.nn.hop_index import HopIndex
from gredkit.nn.models.drew import DRew
from gredkit.nn.models.spn import SPN, SPNLayer

NODES = GraphSpec(nodes=1, outputs=1, level="node")
INITIAL = {"0": "features.dense", "1": "initial.0", "3": "initial.2", "4": "initial.3"}
SPN_PARTS = {"hop_coef": "coefficients", "gin_mlp": "mlp", "hsp_modules": "layers", "layer_norms": "norms"}


def spn(config: Mapping, file: Mapping[str, np.ndarray]) -> Baseline:
    sizes = {"dim": config["dim"], "layers": config["layers"], "hops": config["max_distance"]}
    reads = frozenset({"pair_index"})
    if "classes" not in config:
        model = _with_eps(SPN(NODES, **sizes), config["eps"])
        return Baseline(model.layers, _of_spn, partial(_layers_of_spn, model), reads)
    spec = GraphSpec(nodes=config["features"], outputs=config["classes"])
    switches = {"layer_norm": config["layer_norm"], "readout": config["scatter"]}
    model = _with_eps(SPN(spec, features="linear", **sizes, **switches), config["eps"])
    return Baseline(model, _of_network, partial(_network, model), reads)


def _with_eps(model: SPN, eps: float) -> SPN:
    """The same model in which a node itself counts 1 + eps times: ours has no such setting, eps is 0."""

    def weights(layer: SPNLayer, width: int) -> Tensor:
        ours = SPNLayer.weights(layer, width)
        return torch.cat([ours[:1] + eps, ours[1:]])

    for layer in model.layers:
        layer.weights = partial(weights, layer)  # type: ignore[assignment]
    return model


def _layers_of_spn(model: SPN, given: Mapping[str, Tensor]) -> Outputs:
    batch = batch_of(model.needs(None), given)
    h, hops = given["x"], HopIndex.of(batch)
    for layer in model.layers:
        h = layer(h, hops)
    return Outputs(h, others={"pair_distance": distances(batch, given["pair_index"])})


def _network(model: SPN, given: Mapping[str, Tensor]) -> Outputs:
    batch = batch_of(model.needs(None), given)
    return Outputs(model(batch), others={"pair_distance": distances(batch, given["pair_index"])})


def _of_spn(theirs: str) -> str:
    return ".".join(SPN_PARTS.get(word, word) for word in theirs.split("."))


def _of_network(theirs: str) -> str:
    """The first head is `initial_linear`, the first layer of the initial MLP is our feature encoder."""
    part, _, rest = theirs.partition(".")
    if part == "initial_mlp":
        place, _, leaf = rest.partition(".")
        return f"{INITIAL[place]}.{leaf}"
    if part == "initial_linear":
        return f"heads.0.{rest}"
    if part == "linear_modules":
        layer, _, leaf = rest.partition(".")
        return f"heads.{int(layer) + 1}.{leaf}"
    return _of_spn(theirs)


def drew(config: Mapping, file: Mapping[str, np.ndarray]) -> Baseline:
    if not (config["batchnorm"] and config["l2norm"] and config["act"] == "relu"):
        raise SystemExit("our DRew has batch norm, L2 norm and relu")
    nu, layers = "inf" if config["nu"] < 0 else config["nu"], config["layers"]
    hops = min(config["k_max"], layers)
    model = DRew(NODES, config["dim"], layers, nu=nu, hops=hops, release="batch")
    return Baseline(model.layers, _of_drew, partial(_through_drew, model), frozenset({"hop_index"}))


def _through_drew(model: DRew, given: Mapping[str, Tensor]) -> Outputs:
    farthest = int(given["hop"].max()) if len(given["hop"]) else 0
    found = distances(batch_of([CountedHops(farthest)], given), given["hop_index"])
    batch = batch_of(model.needs(farthest), given)  # the reference knows no pairs but those that are stored
    return Outputs(model.propagate(given["x"], batch), others={"hop": found})


def _of_drew(theirs: str) -> str:
    """`W_kt.k=2, t=3.post_layer.0.bias` is `3.norms.1.bias`."""
    k, t, part, leaf = re.fullmatch(
        r"W_kt\.k=(\d+), t=(\d+)\.(layer\.model\.lin|post_layer\.0)\.(\w+)", theirs
    ).groups()
    return f"{t}.{'norms' if part.startswith('post') else 'linears'}.{int(k) - 1}.{leaf}"
