from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from gredkit.nn.convolutions.activation import activation
from gredkit.nn.convolutions.norm import norm_of
from gredkit.nn.incidence import Incidence

if TYPE_CHECKING:
    from gredkit.nn.distances.all_pairs import AllPairs

EPSILON = 1e-6  # in the sum of the gates, as published


class GatedGCNLayer(nn.Module):
    """Gated graph convolution: each edge has a row of its own, which opens and closes what passes along it.

    z_uv = D h_v + E h_u + C e_uv;  g_uv = sigmoid(z_uv)
    h'_v = A h_v + Σ_u g_uv ⊙ B h_u / (Σ_u g_uv + 1e-6)
    h_v ← h_v + drop(act(norm(h'_v)));  e_uv ← e_uv + drop(act(norm(z_uv)))
    for edges u → v. Bresson and Laurent (2017); the form is that of GraphGPS (Rampášek et al., NeurIPS 2022).
    PyTorch Geometric's `ResGatedGraphConv` neither normalises the gates nor updates the edges.
    Shape: h [nodes, dim], e [edges, dim] -> the same

    norm: 'batch', 'layer' or 'none'. act: 'relu' or 'gelu'. residual: whether h and e are added to the results.
    dropout: share of what is dropped before they are added.
    """

    def __init__(self, dim: int, norm: str = "batch", act: str = "relu", residual: bool = True, dropout: float = 0.0):
        super().__init__()
        self.own, self.value, self.edge = nn.Linear(dim, dim), nn.Linear(dim, dim), nn.Linear(dim, dim)  # A, B, C
        self.target, self.source = nn.Linear(dim, dim), nn.Linear(dim, dim)  # D, E
        self.node_norm, self.edge_norm = norm_of(norm, dim), norm_of(norm, dim)
        self.act, self.dropout, self.residual = activation(act), nn.Dropout(dropout), residual

    def forward(
        self, h: Tensor, e: Tensor, edge_index: Tensor, graphs: AllPairs | None = None
    ) -> tuple[Tensor, Tensor]:  # fmt: skip
        source, target = edge_index
        z = self.target(h)[target] + self.source(h)[source] + self.edge(e)
        gate = z.sigmoid()
        summed = Incidence.by_column(target, len(h)).sum(torch.cat([gate * self.value(h)[source], gate], 1))
        messages, gates = summed.chunk(2, 1)
        new_h, new_e = self.own(h) + messages / (gates + EPSILON), z
        new_h = self.dropout(self.act(self.node_norm(new_h)))
        new_e = self.dropout(self.act(self.edge_norm(new_e)))
        return (h + new_h, e + new_e) if self.residual else (new_h, new_e)
