"""The layers of GraphGPS with GINE or GatedGCN beside attention."""

from collections.abc import Mapping
from functools import partial

import numpy as np
import torch
from golden.baselines.gnn_plus import GATED, spec, stack_of
from golden.baselines.vectors import Baseline, Outputs
from torch import Tensor

from gredkit.nn.distances.all_pairs import AllPairs
from gredkit.nn.models.gps import GPS

LOCALS = {"GINE": "gin", "CustomGatedGCN": "gatedgcn"}
NAMES = {"norm1_local": "local_norm", "norm1_attn": "attention_norm", "norm2": "feed_forward.last_norm"}
NAMES |= {"ff_linear1": "feed_forward.up", "ff_linear2": "feed_forward.down"}
NAMES |= {"self_attn": "attention", "self_attn.out_proj": "attention.out_proj"}
NAMES |= {"local_model": "local.conv", "local_model.nn.0": "local.conv.nn.0", "local_model.nn.2": "local.conv.nn.2"}
NAMES |= {f"local_model.{theirs}": f"local.{ours}" for theirs, ours in GATED.items()}


def gps(config: Mapping, file: Mapping[str, np.ndarray]) -> Baseline:
    model = GPS(
        spec(config), config["dim"], config["layers"], edge_features="dense", local=LOCALS[config["local"]],
        heads=config["heads"], attention_dropout=0.0, act=config["act"],
    )  # fmt: skip

    def ours(theirs: str) -> str:
        layer, _, rest = theirs.partition(".")
        module, _, leaf = rest.rpartition(".")
        return f"layers.{layer}.{NAMES.get(module, module)}.{leaf}"

    return Baseline(stack_of(model), ours, partial(_through, model))


def _through(model: GPS, given: Mapping[str, Tensor]) -> Outputs:
    graphs = AllPairs(given["num_nodes"].long().tolist(), torch.device("cpu"))
    return Outputs(*model.propagate(given["x"], given["edge_attr"], given["edge_index"], graphs))
