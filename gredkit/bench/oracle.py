"""A dense GRED with padded graphs, one mask per hop and complex states, to check the fast path and race against it.

It computes like the published code and does not use gredkit's hop index: distances come from a dense all-pairs
search. It shares only the parameters, the feature encoder and the head with a model.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from scipy.sparse.csgraph import floyd_warshall
from torch import Tensor, nn
from torch.nn import functional as F
from torch_geometric.data import Batch, Data

from gredkit.errors import UserError
from gredkit.nn.aggregators.sum import SumAggregator
from gredkit.nn.encoders.lru import LRU
from gredkit.nn.layer import GREDLayer, SetMLP
from gredkit.nn.models.gred import GRED
from gredkit.nn.scan import linear_scan


@dataclass(frozen=True)
class DenseBatch:
    """The hops of B graphs, padded to N nodes each; padding is in no hop."""

    masks: Tensor  # [B, K + 1, N, N] whether node u is k hops away from node v
    real: Tensor  # [B, N] which nodes are not padding
    beyond: Tensor | None  # [B, K + 1, 1, 1] hops beyond a graph's own diameter, which are not read


def distances(graph: Data) -> np.ndarray:
    """The number of hops between any two nodes; infinite if there is no path. Shape: -> [N, N]"""
    nodes = graph.num_nodes or 0
    adjacency = np.zeros((nodes, nodes))
    if graph.edge_index is not None:
        adjacency[graph.edge_index[0], graph.edge_index[1]] = 1
    return floyd_warshall(np.maximum(adjacency, adjacency.T), unweighted=True) if nodes else adjacency


def dense_batch(graphs: Data | Sequence[Data], K: int | None, size: int = 0) -> DenseBatch:
    """The masks of hops 0..K for a batch, a list of graphs or a single graph; `K=None` stops at each diameter.

    Graphs are padded to the size of the largest one, or to `size` nodes if that is more.
    """
    if isinstance(graphs, Data):
        graphs = graphs.to_data_list() if isinstance(graphs, Batch) else [graphs]
    apart = [distances(graph) for graph in graphs]
    diameter = [int(d[np.isfinite(d)].max(initial=0)) for d in apart]
    last = max(diameter) if K is None else K
    size = max(size, max(map(len, apart), default=0))
    masks = torch.zeros(len(apart), last + 1, size, size, dtype=torch.bool)
    real = torch.zeros(len(apart), size, dtype=torch.bool)
    for i, d in enumerate(apart):
        masks[i, :, : len(d), : len(d)] = torch.from_numpy(d == np.arange(last + 1)[:, None, None])
        real[i, : len(d)] = True
    beyond = None
    if K is None:
        beyond = (torch.arange(last + 1) > torch.tensor(diameter)[:, None])[:, :, None, None]
    return DenseBatch(masks, real, beyond)


class DenseGRED(nn.Module):
    """A GRED model with aggregator 'sum' and encoder 'lru', computed densely with that model's parameters.

    The recurrence runs step by step or, with `scan`, as a parallel scan, like the published code.
    Shape: batch, its dense form -> [graphs, outputs], or [nodes, outputs] with readout 'node'
    """

    def __init__(self, model: GRED, scan: bool = False):
        super().__init__()
        for layer in model.layers:
            if not isinstance(layer.aggregator, SumAggregator) or not isinstance(layer.encoder, LRU):
                raise UserError("the dense oracle supports only the aggregator 'sum' and the encoder 'lru'")
            if not (isinstance(layer.mlp, SetMLP) and isinstance(layer.norm, nn.LayerNorm) and layer.glu is not None):
                raise UserError("the dense oracle supports only layers with set MLP, norms and GLU")
            if not (layer.skip and layer.mlp.skip and layer.direction == "far_to_near"):
                raise UserError("the dense oracle supports only skip connections, and hops from far to near")
        self.model, self.scan = model, scan

    def forward(self, batch: Data, dense: DenseBatch) -> Tensor:
        features = self.model.encode_features(batch)
        h = features.new_zeros(*dense.real.shape, features.shape[1])
        h[dense.real] = features
        masks = dense.masks.to(h.dtype)
        for layer in self.model.layers:
            assert isinstance(layer, GREDLayer)
            h = dense_layer(layer, h, masks, dense, self.scan)
        return self.model.head(self.pool(h, dense.real))

    def pool(self, h: Tensor, real: Tensor) -> Tensor:
        """Shape: h [B, N, dim] -> [B, dim], or [nodes, dim] for readout 'node'"""
        if self.model.readout == "node":
            return h[real]
        if self.model.readout == "max":
            largest = h.masked_fill(~real[..., None], -torch.inf).amax(1)
            return largest.where(real.any(1, keepdim=True), 0.0)  # a graph without nodes
        total = (h * real[..., None]).sum(1)
        return total / real.sum(1, keepdim=True).clamp(min=1) if self.model.readout == "mean" else total


def dense_layer(layer: GREDLayer, h: Tensor, masks: Tensor, dense: DenseBatch, scan: bool) -> Tensor:
    """x = MLP2(mask @ h),  z = LN(x),  s_k = Λ s_{k+1} + W_in z_k,  h' = GLU(gelu(Re[W_out s_0])) + x_0

    Shape: h [B, N, dim], masks [B, K + 1, N, N] -> [B, N, dim]
    """
    assert isinstance(layer.mlp, SetMLP)
    assert isinstance(layer.mlp.norm, nn.LayerNorm)
    assert isinstance(layer.norm, nn.LayerNorm)
    assert layer.glu is not None
    approximate = layer.gelu.approximate
    a = masks @ h[:, None]
    x = a + layer.mlp.down(F.gelu(layer.mlp.up(normalised(layer.mlp.norm, a)), approximate=approximate))
    z = normalised(layer.norm, x)
    if layer.empty_hops == "zero":
        z = z.masked_fill(~dense.masks.any(-1, keepdim=True), 0)
    if dense.beyond is not None:
        z = z.masked_fill(dense.beyond, 0)

    assert isinstance(layer.encoder, LRU)
    states = hidden_states(layer.encoder, z, scan)
    W_out = torch.complex(layer.encoder.out_re, layer.encoder.out_im)
    y = layer.dropout(F.gelu((states[:, 0] @ W_out.mT).real, approximate=approximate))
    gate = torch.sigmoid(F.linear(y, layer.glu.gate.weight, layer.glu.gate.bias))
    value = F.linear(y, layer.glu.value.weight, layer.glu.value.bias) if isinstance(layer.glu.value, nn.Linear) else y
    return layer.dropout(value * gate) + x[:, 0]


def hidden_states(lru: LRU, z: Tensor, scan: bool) -> Tensor:
    """All states of the recurrence from hop K to 0. Shape: [B, K + 1, N, dim] -> [B, K + 1, N, state], complex"""
    eigenvalues = torch.exp(torch.complex(-lru.nu_log.exp(), lru.theta_log.exp()))
    W_in = torch.complex(lru.in_re, lru.in_im) * lru.gamma_log.exp()[:, None]
    inputs = z.to(W_in.dtype) @ W_in.mT
    if scan:
        return linear_scan(eigenvalues, inputs.transpose(1, 2), reverse=True).transpose(1, 2)
    states = [inputs[:, -1]]
    for k in reversed(range(z.shape[1] - 1)):
        states.append(eigenvalues * states[-1] + inputs[:, k])
    return torch.stack(states[::-1], 1)


def normalised(norm: nn.LayerNorm, x: Tensor) -> Tensor:
    """Layer norm with the weights of `norm`."""
    return F.layer_norm(x, x.shape[-1:], norm.weight, norm.bias, eps=1e-6)
