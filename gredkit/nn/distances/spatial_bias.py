"""How far two nodes are from each other, as a bias of the attention between them."""

import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from gredkit.errors import UserError
from gredkit.nn.distances.all_pairs import AllPairs
from gredkit.nn.distances.hop_pairs import HopPairs


def spatial_types(batch: Data, pairs: AllPairs, count: int) -> Tensor:
    """min(distance, count - 1) for nodes that are connected, `count` for others. Shape: -> [graphs, nodes, nodes]

    The last axes are as long as the largest graph has nodes; what is beyond the nodes of a smaller one means nothing.
    """
    if "component" not in batch:
        raise UserError("this graph does not say which nodes are connected: call add_to of Connected on it first")
    shape = len(pairs.sizes), pairs.width
    component = torch.full(shape, -1, device=pairs.size.device)
    component[pairs.graph, pairs.place] = batch.component.long()
    types = torch.where(component[:, :, None] == component[:, None], count - 1, count)
    near = HopPairs(batch)
    distance = near.distance.clamp(max=count - 1)  # an index that reaches farther does no harm
    types[pairs.graph[near.target], pairs.place[near.target], pairs.place[near.source]] = distance
    return types


class SpatialBias(nn.Module):
    """One learned number per distance and head, and what the path between the nodes adds.

    b_qk = s[type(q, k)] + path(q, k) / max(type(q, k), 1);  to and from the graph token b = t  (Ying et al., 2021)
    Shape: types [graphs, nodes, nodes], path [graphs, nodes, nodes, heads] -> [graphs, heads, nodes, nodes], with the
    token as first node if there is one

    types: number of types, beside the one of nodes that are not connected. graph_token: whether there is a token.
    """

    def __init__(self, heads: int, types: int, graph_token: bool):
        super().__init__()
        self.spatial = nn.Embedding(types + 1, heads)
        nn.init.normal_(self.spatial.weight, std=0.02)
        self.token = nn.Parameter(torch.empty(heads).normal_(std=0.02)) if graph_token else None

    def forward(self, types: Tensor, path: Tensor | None = None) -> Tensor:
        bias = self.spatial(types)
        if path is not None:
            bias = bias + path / types.clamp(min=1).to(path.dtype)[..., None]
        if self.token is not None:
            graphs, nodes, _, heads = bias.shape
            token = self.token.to(bias.dtype)
            bias = torch.cat([token.expand(graphs, nodes, 1, heads), bias], 2)
            bias = torch.cat([token.expand(graphs, 1, nodes + 1, heads), bias], 1)
        return bias.permute(0, 3, 1, 2)
