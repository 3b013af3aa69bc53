"""What one node hears of the others: influence, what hiding a hop does to it, and what linear encoders add up."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

import numpy as np
import torch
from torch import Tensor, nn
from torch_geometric.data import Batch, Data

from gredkit.inference.distance.derivatives import Target, jacobian_norms
from gredkit.inference.distance.distances import hops_from, resistances
from gredkit.inference.distance.knock_out import Hiding
from gredkit.inference.distance.measured import frozen
from gredkit.nn.encoders.base import SequenceEncoder as Encoder
from gredkit.nn.hop_index import HopIndex
from gredkit.nn.kernels.usable import without_kernels


@dataclass(frozen=True)
class OneNode:
    """What node v of a graph hears.

    hop, resistance, influence: of each node u, its distance from v and ‖∂h_v/∂x_u‖₁; resistance is None for a graph
    that is too large. hidden: |h_v without hop k - h_v| / |h_v|, by hop. layers: for each layer whose encoder is
    linear, ‖M_k z_v,k‖, the norm of what hop k adds to y_v = Σ_k M_k z_v,k; by hop, and exact
    """

    hop: np.ndarray
    influence: np.ndarray
    resistance: np.ndarray | None = None
    hidden: list[float] = field(default_factory=list)
    layers: dict[int, list[float]] = field(default_factory=dict)


def look_at(model: nn.Module, graph: Data, node: int, level: str) -> OneNode:
    """Look at one node of a graph that carries all that the model needs."""
    with frozen(model):
        (influence,) = jacobian_norms(model, [Target(graph, node)])
        ohms = resistances(graph)
        hiding = Hiding(model, [graph], [[node]], level)
        whole = hiding.states(None)
        size = whole.norm().clamp(min=torch.finfo(whole.dtype).tiny)
        hidden = [float((hiding.states(k) - whole).norm() / size) for k in range(hiding.farthest + 1)]
        layers = dict(contributions(model, graph, node))
    return OneNode(
        hops_from(graph, node), influence.double().numpy(), None if ohms is None else ohms[node], hidden, layers
    )


@torch.no_grad()
def contributions(model: nn.Module, graph: Data, node: int) -> Iterator[tuple[int, list[float]]]:
    """The number of each layer whose encoder is linear, and the norm of what each place of the sequence adds there."""
    layers = getattr(model, "layers", ())
    encoders = {i: found for i, one in enumerate(layers) if isinstance(found := getattr(one, "encoder", None), Encoder)}
    read: dict[int, list[tuple[Tensor, HopIndex]]] = {}
    with _reading(encoders, read), without_kernels():
        model(Batch.from_data_list([graph]))
        for i, encoder in encoders.items():
            z, hops = read[i][min(sum(encoder is encoders[j] for j in range(i)), len(read[i]) - 1)]
            if encoder.hop_weights(hops.width) is not None:
                yield i, [float(one.norm()) for one in added_by_hop(encoder, z, hops, node)]


def added_by_hop(encoder: Encoder, z: Tensor, hops: HopIndex, node: int) -> list[Tensor]:
    """M_k z_v,k for each place k of a node's sequence, nearest first, of an encoder that is linear in z.

    The encoder reads rows that are zero but for that of one set, which stands at one place only. Shape: -> [dim] each
    """
    first, last = hops.seq_start[node : node + 2].tolist()
    nothing = encoder(torch.zeros_like(z), hops)[node]
    found = []
    for place in range(first, last):
        one = int(hops.seq_set[place])
        rows = torch.zeros_like(z)
        rows[one] = z[one]
        seq_set = hops.seq_set.clone()
        seq_set[first:last] = 0 if one else len(z) - 1  # a row of zeros
        seq_set[place] = one
        found.append(encoder(rows, replace(hops, seq_set=seq_set))[node] - nothing)
    return found[::-1] if hops.turned else found


@contextmanager
def _reading(encoders: dict[int, Encoder], read: dict[int, list[tuple[Tensor, HopIndex]]]) -> Iterator[None]:
    """Inside, what encoders read is kept; a hook also keeps layers from being computed all at once."""
    hooks = []

    def keep(encoder: nn.Module, given: tuple[Tensor, HopIndex]) -> None:
        if seen := [i for i, one in encoders.items() if one is encoder]:
            for i in seen:
                read.setdefault(i, []).append(given)

    for encoder in dict.fromkeys(encoders.values()):
        hooks.append(encoder.register_forward_pre_hook(keep))
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()
