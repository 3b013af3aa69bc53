import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from gredkit import ranges
from gredkit.data.hops.index import FARTHEST
from gredkit.data.hops.structure import Hops
from gredkit.data.structures import Structure
from gredkit.data.task import GraphSpec
from gredkit.nn.convolutions.norm import BatchNorm
from gredkit.nn.dense import Dense
from gredkit.nn.hop_index import HopIndex
from gredkit.nn.models.base import Component, GraphModel, head
from gredkit.nn.models.gred import edges_to, mean_of_edges
from gredkit.nn.models.message_passing import share_to_drop
from gredkit.nn.segments import sum_entries
from gredkit.registry import MODELS


@MODELS.register("spn")
class SPN(GraphModel):
    """Shortest-path network: sums over the hops with one learned weight per hop, and an MLP (Abboud et al., LoG 2022).

    h^0 = MLP(features);  h^{l+1} as `SPNLayer` says;  answer = pool(H_0 h^0) + Σ_l H_l LN_l(pool(h^l)), H_l linear
    The defaults are the published network for TU datasets, if `features` is 'linear'. It reads no edges; with
    `edge_features` each node also receives the mean of its edges' encoded features, as in `gred`.

    dim: width of the rows. layers: number of layers. hops: number of weights, one for each hop from 1 on; what is
    farther away is not read, nor what is beyond K. dropout: share of each term of the answer that is dropped. initial:
    whether an MLP follows the feature encoder. jumping: whether every layer has a linear head; without it, one head
    reads the last layer. layer_norm: whether what a linear head reads is normalised. readout: 'sum', 'mean', 'max' (as
    published) or 'node'; None is what the task asks. head_layers: 1 to 3, of the head without `jumping`.
    Shape: batch of HopData -> [graphs, outputs], or [nodes, outputs] with readout 'node'
    """

    def __init__(
        self,
        spec: GraphSpec,
        dim: int = 64,
        layers: int = 4,
        features: Component | None = None,
        edge_features: Component | None = None,
        positional: Component = "none",
        hops: int = 10,
        dropout: float = 0.0,
        initial: bool = True,
        jumping: bool = True,
        layer_norm: bool = True,
        readout: str | None = None,
        head_layers: int = 2,
    ):
        super().__init__(
            spec, dim, layers, features, edge_features, positional, None, readout, head_layers,
            edges_beside_positions=True,
        )  # fmt: skip
        ranges.whole("hops", hops, 1, FARTHEST)
        share_to_drop("dropout", dropout)
        self.hops = hops
        self.initial = (
            nn.Sequential(*rectified(dim), nn.Linear(dim, dim), *rectified(dim)) if initial else nn.Identity()
        )
        self.layers = nn.ModuleList(SPNLayer(dim, hops) for _ in range(layers))
        self.dropout = nn.Dropout(dropout)
        self.heads = self.norms = self.head = None
        if jumping:
            self.heads = nn.ModuleList(Dense(dim, spec.outputs) for _ in range(layers + 1))
            norm = nn.LayerNorm if layer_norm else nn.Identity
            self.norms = nn.ModuleList(norm(dim) for _ in range(layers))
        else:
            self.head = head(dim, spec.outputs, head_layers)

    def needs(self, K: int | None) -> list[Structure]:
        return [Hops(self.hops if K is None else min(K, self.hops)), *super().needs(K)]

    def forward(self, batch: Data) -> Tensor:
        hops = HopIndex.of(batch)
        h = self.features(batch.x)
        if self.edge_features is not None:
            h = h + mean_of_edges(self.edge_features(batch.edge_attr), edges_to(batch, len(h)))
        states = [self.initial(self.with_positions(h, batch))]
        for layer in self.layers:
            states.append(layer(states[-1], hops))
        if self.head is not None:
            return self.head(self.dropout(self.pool(states[-1], batch)))
        return self.jumping_sum(states, batch)

    def jumping_sum(self, states: list[Tensor], batch: Data) -> Tensor:
        """The sum of one linear head per layer; the first one is applied before pooling. Shape: -> [graphs, outputs]"""
        assert self.heads is not None
        assert self.norms is not None
        first, *others = self.heads
        answer = self.dropout(self.pool(first(states[0]), batch))
        for state, norm, linear in zip(states[1:], self.norms, others, strict=True):
            answer = answer + self.dropout(linear(norm(self.pool(state, batch))))
        return answer


class SPNLayer(nn.Module):
    """One sum over all hops, with one weight per hop, and one MLP.

    h'_v = MLP(h_v + Σ_{k=1..hops} w_k Σ_{u : dist(u,v)=k} h_u),  w = softmax(a),  a normally distributed at the start
    MLP(x) = relu(BN(W_2 relu(BN(W_1 x + b_1)) + b_2))
    Shape: h [nodes, dim] -> [nodes, dim]
    """

    def __init__(self, dim: int, hops: int):
        super().__init__()
        self.coefficients = nn.Parameter(torch.randn(hops))
        self.mlp = nn.Sequential(nn.Linear(dim, dim), *rectified(dim), nn.Linear(dim, dim), *rectified(dim))

    def forward(self, h: Tensor, hops: HopIndex) -> Tensor:
        weight = self.weights(hops.width).to(h.dtype)[hops.row_hop]
        rows = hops.rows.sum(hops.sets.sum(h)) * weight[:, None]
        return self.mlp(sum_entries(rows, hops.sequences))

    def weights(self, width: int) -> Tensor:
        """The weights of hops 0, 1, …: 1 for the node itself, 0 for hops that are too far. Shape: [width]"""
        near = self.coefficients.softmax(0)[: width - 1]
        return torch.cat([near.new_ones(1), near, near.new_zeros(max(width - 1 - near.numel(), 0))])


def rectified(dim: int) -> tuple[nn.Module, nn.Module]:
    """relu(BN(·)). Shape: [items, dim] -> [items, dim]"""
    return BatchNorm(dim), nn.ReLU()
