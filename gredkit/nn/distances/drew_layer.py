from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch_geometric.data import Data

from gredkit.nn.convolutions.norm import BatchNorm
from gredkit.nn.distances.hop_pairs import HopPairs
from gredkit.nn.incidence import Incidence


class HopGraph(NamedTuple):
    """The pairs at one distance as a graph: A with self-loops, symmetrically normalised."""

    neighbours: Incidence  # [nodes x nodes], without the self-loops
    scale: Tensor  # [nodes] 1 / sqrt(neighbours + 1)
    nodes: Tensor | None  # the nodes that receive something; None is all of them


def hop_graphs(batch: Data, last: int, release: str, dtype: torch.dtype) -> list[HopGraph]:
    """The graphs of hops 1 to `last`, without those beyond the farthest pair of the batch.

    release: 'graph' or 'batch', see the model `drew`. dtype: of what the layers read.
    """
    pairs = HopPairs(batch)
    profiles = [batch.hop_profile] if isinstance(batch.hop_profile, np.ndarray) else batch.hop_profile
    found = []
    for k in range(1, min(last + 1, pairs.width)):
        neighbours = pairs.neighbours(k)
        scale = (neighbours.start.diff() + 1).to(dtype).rsqrt()
        reaches = [len(profile) > k and bool(profile[k]) for profile in profiles]
        nodes = None
        if release == "graph" and not all(reaches):
            taking_part = np.repeat(reaches, [profile[0] for profile in profiles])
            nodes = torch.from_numpy(np.flatnonzero(taking_part)).to(scale.device, non_blocking=True)
        found.append(HopGraph(neighbours, scale, nodes))
    return found


class DRewLayer(nn.Module):
    """One graph convolution per hop, of what the nodes were at some earlier layer.

    h^{t+1}_v = ℓ2(h^t_v + relu(Σ_{k=1..hops} m_k)),  m_k = ℓ2(relu(drop(BN_k(Â_k h^{t-delay(k)} W_k))))
    Â_k: the graph of all pairs at distance k with self-loops, D^-1/2 (A_k + I) D^-1/2;  delay(k) = max(k - ν, 0);
    ℓ2(x) = x / |x|. Gutteridge et al., ICML 2023.
    Shape: states h^0 … h^t, each [nodes, dim] -> h^{t+1} [nodes, dim]

    hops: how many hops have been released. nu: ν; 'inf' is no delay. dropout: share of each message that is dropped.
    """

    def __init__(self, dim: int, hops: int, nu: int | str, dropout: float = 0.0):
        super().__init__()
        self.delays = [0 if nu == "inf" else max(k - int(nu), 0) for k in range(1, hops + 1)]
        self.linears = nn.ModuleList(nn.Linear(dim, dim, bias=False) for _ in range(hops))
        self.norms = nn.ModuleList(BatchNorm(dim) for _ in range(hops))
        self.dropout = nn.Dropout(dropout)

    def forward(self, states: Sequence[Tensor], graphs: Sequence[HopGraph]) -> Tensor:
        total = torch.zeros_like(states[-1])
        for graph, delay, linear, norm in zip(graphs, self.delays, self.linears, self.norms, strict=False):
            h = linear(states[-1 - delay])
            scale = graph.scale.to(h.dtype)[:, None]
            h = scale * h
            h = scale * (h + graph.neighbours.sum(h))
            if graph.nodes is not None:
                h = h.index_select(0, graph.nodes)
            message = F.normalize(self.dropout(norm(h)).relu()).to(total.dtype)
            total = total + message if graph.nodes is None else total.index_add(0, graph.nodes, message)
        return F.normalize(states[-1] + total.relu())
