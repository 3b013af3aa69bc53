"""Graphormer and GRIT, which attend to all nodes of a graph."""

from collections.abc import Mapping
from functools import partial
from unittest.mock import patch

import numpy as np
import torch
from golden.baselines.batches import batch_of
from golden.baselines.vectors import Baseline, Outputs
from torch import Tensor, nn
from torch.func import functional_call

from gredkit import GraphSpec
from gredkit.nn.distances import grit_layer
from gredkit.nn.distances.all_pairs import AllPairs
from gredkit.nn.distances.path_bias import PathBias
from gredkit.nn.distances.rrwp import adjacency, rrwp
from gredkit.nn.distances.spatial_bias import spatial_types
from gredkit.nn.models.graphormer import Graphormer, in_squares, occurrences
from gredkit.nn.models.grit import GRIT

NODES = GraphSpec(nodes=1, outputs=1, level="node")
IN_LAYER = {"attention.in_proj_": "projection.", "attention.out_proj.": "out.", "input_norm.": "norm."}
BEFORE = {
    "bias.spatial_encoder.weight": "spatial.weight",
    "bias.edge_dis_encoder.weight": "theirs.along",
    "bias.edge_encoder.weight": "theirs.edges",
    "bias.graph_token": "theirs.to_token",
    "node.graph_token": "theirs.token",
    "node.in_degree_encoder.weight": "in_degree.weight",
    "node.out_degree_encoder.weight": "out_degree.weight",
}


def graphormer(config: Mapping, file: Mapping[str, np.ndarray]) -> Baseline:
    types, heads = config["num_spatial_types"], config["heads"]
    switches = {"num_spatial_types": types, "num_degrees": config["num_degrees"], "graph_token": config["graph_token"]}
    dropouts = dict.fromkeys(("attention_dropout", "mlp_dropout", "input_dropout"), 0.0)
    model = Graphormer(NODES, config["dim"], config["layers"], heads=heads, **switches, **dropouts)
    for name in ("in_degree_encoder", "out_degree_encoder"):
        if (rows := len(file[f"param:node.{name}.weight"])) != config["num_degrees"]:
            raise SystemExit(f"{name} has {rows} rows, our tables of both degrees have {config['num_degrees']}")
    theirs = nn.ParameterDict()  # of another shape than ours
    ignored = set()
    if "shortest_path_types" in file:
        theirs["along"] = torch.zeros(types * heads * heads, 1)
        theirs["edges"] = torch.zeros(config["num_edge_types"], heads)
    else:  # the tables are there, and nothing reads them
        ignored = {"bias.edge_dis_encoder.weight", "bias.edge_encoder.weight"}
    if config["graph_token"]:
        theirs["to_token"], theirs["token"] = torch.zeros(1, heads, 1), model.token
    parts = {"layers": model.layers, "in_degree": model.in_degree, "out_degree": model.out_degree}
    module = nn.ModuleDict({**parts, "spatial": model.bias.spatial, "theirs": theirs})
    reads = frozenset({"graph_index", "shortest_path_types"})
    return Baseline(module, _of_graphormer, partial(_through_graphormer, model, theirs), reads, ignored)


def _through_graphormer(model: Graphormer, theirs: Mapping[str, Tensor], given: Mapping[str, Tensor]) -> Outputs:
    batch = batch_of(model.needs(None), given)
    pairs = AllPairs.of(batch)
    types = spatial_types(batch, pairs, model.num_spatial_types)
    token = {"token": theirs["to_token"].flatten()} if "to_token" in theirs else {}
    bias = functional_call(model.bias, token, (types, _along_paths(model, theirs, given, pairs)))
    h, tokens = model.propagate(model.with_degrees(given["x"], batch), pairs, bias)
    of_row = pairs.graph
    if tokens is not None:
        of_row, order = torch.cat([torch.arange(len(pairs.sizes)), of_row]).sort(stable=True)
        h = torch.cat([tokens, h])[order]
    query, key = given["graph_index"]
    others = {
        "out_batch": of_row,
        "spatial_types": types[pairs.graph[query], pairs.place[query], pairs.place[key]],
        "in_degrees": occurrences(batch.edge_index[1], len(pairs.graph)),
        "out_degrees": occurrences(batch.edge_index[0], len(pairs.graph)),
        "attn_bias": _with_their_padding(bias, given["attn_bias"], pairs, len(bias[0, 0]) - pairs.width),
    }
    return Outputs(h, others=others)


def _along_paths(
    model: Graphormer, theirs: Mapping[str, Tensor], given: Mapping[str, Tensor], pairs: AllPairs
) -> Tensor | None:
    """With the paths of the file, since shortest paths are not unique; each type of edge stands for an edge."""
    if "edges" not in theirs:
        return None
    types, heads = model.num_spatial_types, theirs["edges"].shape[1]
    number = pairs.number(*given["graph_index"])
    path = torch.empty_like(given["shortest_path_types"])
    path[number] = (given["shortest_path_types"] - 1) % len(theirs["edges"])  # type 0 is the row behind the edges
    ours = {"weight": theirs["along"].view(types, heads, heads), "beyond": theirs["edges"][0]}
    values = functional_call(PathBias(heads, types), ours, (theirs["edges"][1:], list(path.T), pairs.count))
    return in_squares(values, pairs)


def _with_their_padding(ours: Tensor, theirs: Tensor, pairs: AllPairs, tokens: int) -> Tensor:
    inside = torch.arange(ours.shape[-1]) < pairs.size[:, None] + tokens
    return torch.where((inside[:, :, None] & inside[:, None])[:, None], ours, theirs)


def _of_graphormer(theirs: str) -> str:
    if theirs in BEFORE:
        return BEFORE[theirs]
    layer, _, rest = theirs.removeprefix("layer").partition(".")
    for part, ours in IN_LAYER.items():
        rest = rest.replace(part, ours)
    return f"layers.{layer}.{rest}"


GRIT_PARTS = {
    "attention.Q": "query",
    "attention.K": "key",
    "attention.V": "value",
    "attention.E": "pair",
    "attention.Aw": "score",
    "attention.VeRow": "read",
    "deg_coef": "degree",
    "O_h": "out",
    "O_e": "pair_out",
    "batch_norm1_h": "norm",
    "batch_norm1_e": "pair_norm",
    "batch_norm2_h": "last_norm",
    "FFN_h_layer1": "up",
    "FFN_h_layer2": "down",
}
WALKS = {"node.fc.weight": "node_walks.weight", "pair.fc.weight": "pair_walks.weight"}


def grit(config: Mapping, file: Mapping[str, np.ndarray]) -> Baseline:
    if config["act"] != "relu":
        raise SystemExit("our GRIT has relu")
    settings = {"heads": config["heads"], "rrwp": config["ksteps"], "orientation": config["orientation"]}
    model = GRIT(NODES, config["dim"], config["layers"], **settings, attention_dropout=0.0)
    parts = {"layers": model.layers, "node_walks": model.node_walks, "pair_walks": model.pair_walks}
    reads = frozenset({"pair_index", "pair_index_train", "rrwp_index"})
    return Baseline(nn.ModuleDict(parts), _of_grit, partial(_through_grit, model, config["clamp"]), reads)


def _through_grit(model: GRIT, clamp: float, given: Mapping[str, Tensor]) -> Outputs:
    batch = batch_of((), given)
    pairs = AllPairs.of(batch)
    with patch.object(grit_layer, "CLAMP", clamp):  # ours has no such setting, it is 5
        h, e = model.propagate(given["x"], batch.edge_attr, batch, pairs, to_the_end=True)
    A = adjacency(batch, pairs, h.dtype)
    walks, degree = rrwp(A, pairs, model.rrwp, model.orientation), A.sum(2)[pairs.graph, pairs.place]
    node = torch.arange(len(h))
    source, target = given["rrwp_index"]
    stored = pairs.number(target, source)
    if not_stored := int(walks.any(1).sum()) - len(stored):
        raise SystemExit(f"we find {not_stored} more pairs with walks between them than the file has")
    others = {"rrwp": walks[pairs.number(node, node)], "rrwp_val": walks[stored]}
    others |= {"deg": degree.long(), "log_deg": degree.log1p()}
    source, target = given["pair_index" if "pair_index" in given else "pair_index_train"]
    return Outputs(h, e[pairs.number(target, source)], others)


def _of_grit(theirs: str) -> str:
    if theirs in WALKS:
        return WALKS[theirs]
    layer, _, rest = theirs.removeprefix("layer").partition(".")
    part, _, leaf = rest.rpartition(".")
    if rest in GRIT_PARTS:
        return f"layers.{layer}.{GRIT_PARTS[rest]}"
    return f"layers.{layer}.{GRIT_PARTS[part]}.{leaf}"
