"""What a file of the published implementation holds: its graphs, its model, and where its weights live in ours."""

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import nn
from torch_geometric.data import Data

from gredkit import GRED, GraphSpec
from gredkit.nn.encoders.lru import LRU


def parameters_in(file: Mapping[str, np.ndarray], kind: str = "param") -> dict[str, np.ndarray]:
    """The arrays of a kind (`param`, `grad`, `final`), by the published path."""
    return {name.removeprefix(f"{kind}:"): file[name] for name in file if name.startswith(f"{kind}:")}


def build(config: dict, weights: Mapping[str, np.ndarray], mode: str = "auto") -> GRED:
    """The model that a file describes, with fresh weights."""
    kind = config["model"]
    names = sorted((name for name in weights if name.startswith("Embed_")), key=lambda name: (len(name), name))
    embeds = [weights[name].shape[0] for name in names]
    by_kind: dict[str, dict[str, Any]] = {
        "zinc": {"features": "categorical", "edge_features": "categorical", "readout": "sum"},
        "peptides": {"features": "categorical", "readout": "sum"},
        "superpixel": {"features": "dense", "readout": "mean", "head_layers": 1},
        "sbm": {"features": "embedding", "head_layers": 1},
    }
    if kind not in by_kind:
        raise SystemExit(f"unknown model {kind!r}: known are {', '.join(by_kind)}")
    nodes: int | tuple[int, ...] = tuple(embeds[:1] if kind == "zinc" else embeds)
    if kind == "superpixel":
        nodes = weights["Dense_0/kernel"].shape[0]
    spec = GraphSpec(
        nodes=nodes,
        outputs=config["dim_o"],
        edges=tuple(embeds[1:]) if kind == "zinc" else None,
        level="node" if kind == "sbm" else "graph",
    )
    return GRED(
        spec,
        dim=config["dim_h"],
        layers=config["num_layers"],
        encoder=partial(LRU, state_dim=config["dim_v"], mode=mode),
        expand=config.get("expand", 1),
        glu=config["act"].partition("-")[0],
        gelu="tanh",
        **by_kind[kind],
    )


def load(model: GRED, config: dict, weights: Mapping[str, np.ndarray]) -> dict[str, tuple[nn.Parameter, bool]]:
    """Copy the file's weights into the model; returns each parameter, and whether the file has it transposed."""
    parameters = {name: _parameter(model, place) for name, place in places(config, weights).items()}
    if unused := set(weights) - set(parameters):
        raise SystemExit(f"the file has weights that this model has no place for: {', '.join(sorted(unused))}")
    with torch.no_grad():
        for name, (parameter, turned) in parameters.items():
            weight = torch.from_numpy(weights[name])
            parameter.copy_(weight.mT if turned else weight)
    return parameters


def places(config: dict, weights: Mapping[str, np.ndarray]) -> dict[str, str]:
    """Where each weight of the file lives in our model."""
    kind, layers = config["model"], config["num_layers"]
    modules: dict[str, str] = {}
    if kind == "zinc":
        modules = {"Embed_0": "features.embeds.0", "Dense_0": "features.dense"}
        modules |= {"Embed_1": "edge_features.embeds.0", "Dense_1": "edge_features.dense"}
        modules |= {"Dense_2": "head.0", "Dense_3": "head.2"}
    elif kind == "peptides":
        columns = sum(name.startswith("Embed_") for name in weights)
        modules = {f"Embed_{i}": f"features.embeds.{i}" for i in range(columns)}
        modules |= {"Dense_0": "features.dense", "Dense_1": "head.0", "Dense_2": "head.2"}
    elif kind == "superpixel":
        modules = {"Dense_0": "features.mlp.0", "Dense_1": "features.mlp.2", "Dense_2": "head"}
    elif kind == "sbm":
        modules = {"Embed_0": "features.embed", "Dense_0": "head"}
    full = config["act"].startswith("full")
    for i in range(layers):
        mlp, lru = f"GRED_{i}/MLP_0", f"GRED_{i}/LRU_0"
        modules |= {f"{mlp}/LayerNorm_0": f"layers.{i}.mlp.norm", f"{lru}/LayerNorm_0": f"layers.{i}.norm"}
        modules |= {f"{mlp}/Dense_0": f"layers.{i}.mlp.up", f"{mlp}/Dense_1": f"layers.{i}.mlp.down"}
        modules |= {f"{lru}/Dense_{int(full)}": f"layers.{i}.glu.gate"}
        if full:
            modules |= {f"{lru}/Dense_0": f"layers.{i}.glu.value"}

    leaf = {"kernel": "weight", "embedding": "weight", "scale": "weight", "bias": "bias"}
    found = {
        f"{theirs}/{name}": f"{ours}.{leaf[name]}"
        for theirs, ours in modules.items()
        for name in leaf
        if f"{theirs}/{name}" in weights
    }
    recurrent = {"nu_log": "nu_log", "theta_log": "theta_log", "gamma_log": "gamma_log"}
    recurrent |= {"B_re": "in_re", "B_im": "in_im", "C_re": "out_re", "C_im": "out_im"}
    for i in range(layers):
        found |= {f"GRED_{i}/LRU_0/{a}": f"layers.{i}.encoder.{b}" for a, b in recurrent.items()}
    return found


def _parameter(model: nn.Module, place: str) -> tuple[nn.Parameter, bool]:
    """The parameter at a place, and whether the file holds it transposed, as [in, out]."""
    parameter = model.get_parameter(place)
    return parameter, parameter.dim() == 2 and "embed" not in place


def graphs(file: Mapping[str, np.ndarray]) -> list[Data]:
    """The file's graphs, one by one."""
    ends = np.cumsum(file["num_nodes"])
    edges, attr = file["edge_index"], file.get("edge_attr")
    data = []
    for end, count in zip(ends, file["num_nodes"], strict=True):
        mine = (edges[0] >= end - count) & (edges[0] < end)
        graph = Data(
            x=torch.from_numpy(file["x"][end - count : end]),
            edge_index=torch.from_numpy(edges[:, mine].astype(np.int64) - (end - count)),
            num_nodes=int(count),
        )
        if attr is not None:
            graph.edge_attr = torch.from_numpy(attr[mine])
        data.append(graph)
    return data
