from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from gredkit.nn.convolutions.norm import norm_of
from gredkit.nn.incidence import Incidence
from gredkit.nn.segments import segment_reduce

if TYPE_CHECKING:
    from gredkit.nn.distances.all_pairs import AllPairs

STATISTICS, SCALERS = 4, 3
LEAST_VARIANCE = 1e-5  # below it the standard deviation counts as 0, as in PyTorch Geometric


class PNALayer(nn.Module):
    """Principal neighbourhood aggregation: four statistics of the messages, each in three scalings by the degree.

    m_uv = M [h_u, h_v, e_uv];  a_v = [1, r_v, 1/r_v] ⊗ [mean, max, min, std] of m_uv over u → v
    h_v ← h_v + leaky_relu(W drop(norm(U [h_v, a_v]))),  r_v = log(d_v + 1) / mean of it over the training nodes
    The columns are divided among towers with an M and a U of their own; W mixes them (Corso et al., NeurIPS 2020; the
    form is that of its code for the benchmarks). PyTorch Geometric's `PNAConv` first squeezes e to the width of a
    tower, and has nothing between U and W.
    Shape: h [nodes, dim], e [edges, edge_dim] or None -> the same

    dim: a multiple of towers. towers: number of them. edge_dim: width of e, 0 if there is none. norm: 'batch',
    'layer' or 'none'. residual: whether h is added to the result. dropout: share of what is dropped behind the norm.
    """

    mean_log_degree: Tensor

    def __init__(
        self, dim: int, towers: int = 1, edge_dim: int = 0, norm: str = "batch", residual: bool = True,
        dropout: float = 0.0,
    ):  # fmt: skip
        super().__init__()
        width = dim // towers
        self.source, self.target = Towers(towers, width, width, bias=False), Towers(towers, width, width)
        self.edge = nn.Linear(edge_dim, dim, bias=False) if edge_dim else None
        self.after = Towers(towers, (STATISTICS * SCALERS + 1) * width, width)
        self.norm, self.dropout, self.residual = norm_of(norm, dim), nn.Dropout(dropout), residual
        self.mix, self.act = nn.Linear(dim, dim), nn.LeakyReLU()
        self.register_buffer("mean_log_degree", torch.ones(()))

    def forward(
        self, h: Tensor, e: Tensor | None, edge_index: Tensor, graphs: AllPairs | None = None
    ) -> tuple[Tensor, Tensor | None]:
        source, target = edge_index
        by_tower = h.view(len(h), self.after.towers, -1)
        messages = self.source(by_tower).flatten(1)[source] + self.target(by_tower).flatten(1)[target]
        if self.edge is not None and e is not None:
            messages = messages + self.edge(e)
        around = self._scaled(messages, Incidence.by_column(target, len(h)))
        around = around.view(len(h), STATISTICS * SCALERS, self.after.towers, -1).transpose(1, 2).flatten(2)
        new = self.after(torch.cat([by_tower, around], 2)).flatten(1)
        new = self.act(self.mix(self.dropout(self.norm(new))))
        return h + new if self.residual else new, e

    def _scaled(self, messages: Tensor, by_target: Incidence) -> Tensor:
        """Shape: [edges, dim] -> [nodes, statistics * scalers * dim]; zero for a node without neighbours"""
        mean = segment_reduce(messages, by_target, "mean")
        largest, smallest = segment_reduce(torch.cat([messages, -messages], 1), by_target, "max").chunk(2, 1)
        deviation = messages - mean[by_target.transposed.columns]
        variance = segment_reduce(deviation.square(), by_target, "mean")
        std = torch.where(variance > LEAST_VARIANCE, variance.clamp(min=LEAST_VARIANCE).sqrt(), 0)
        statistics = torch.cat([mean, largest, -smallest, std], 1)
        ratio = (by_target.start.diff().clamp(min=1).to(mean.dtype) + 1).log()[:, None] / self.mean_log_degree
        return torch.cat([statistics, ratio * statistics, statistics / ratio], 1)


class Towers(nn.Module):
    """One linear layer per tower. Shape: [items, towers, inputs] -> [items, towers, outputs]"""

    def __init__(self, towers: int, inputs: int, outputs: int, bias: bool = True):
        super().__init__()
        self.towers = towers
        self.weight = nn.Parameter(torch.empty(towers, inputs, outputs))
        self.bias = nn.Parameter(torch.zeros(towers, outputs)) if bias else None
        bound = inputs**-0.5  # as torch's linear layer
        nn.init.uniform_(self.weight, -bound, bound)

    def forward(self, x: Tensor) -> Tensor:
        result = torch.einsum("nti,tio->nto", x, self.weight)
        return result if self.bias is None else result + self.bias
