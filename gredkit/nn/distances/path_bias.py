"""What the edges along a shortest path add to the attention between its ends."""

import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from gredkit.errors import UserError
from gredkit.nn.distances.all_pairs import AllPairs
from gredkit.nn.incidence import starts


def walk(batch: Data, pairs: AllPairs, steps: int) -> list[Tensor]:
    """The edges along the path of each pair, as columns of edge_index; their number where the path has ended.

    Shape: -> `steps` tensors [pairs]
    """
    if "path_first_edge" not in batch:
        raise UserError("this graph has no shortest paths: call add_to of ShortestPaths on it first")
    edge_index = batch.edge_index
    none = edge_index.shape[1]
    per_graph = torch.zeros_like(pairs.size).index_add(
        0, pairs.graph[edge_index[0]], torch.ones_like(edge_index[0])
    )  # fmt: skip
    local = batch.path_first_edge.long()
    first = torch.where(local < 0, none, local + starts(per_graph)[pairs.graph[pairs.first]])
    ends = torch.cat([edge_index.sum(0), edge_index.new_zeros(1)])  # minus one end, it is the other
    here, found = pairs.first, []
    for _ in range(steps):
        edge = first[pairs.number(here, pairs.second)]
        found.append(edge)
        here = torch.where(edge == none, here, ends[edge] - here)
    return found


class PathBias(nn.Module):
    """One matrix per position on the path, applied to the row of the edge there; where the path has ended, to a row c.

    b_qk = Σ_{p=0..length-1} e_p W_p,  e_p = c beyond the end of the path (Ying et al., NeurIPS 2021)
    Shape: edges [edges, heads], path: `length - 1` tensors [pairs] or less -> [pairs, heads]

    length: number of positions, one more than the longest path; a longer one is read up to there
    """

    def __init__(self, heads: int, length: int):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(length, heads, heads).normal_(std=0.02))
        self.beyond = nn.Parameter(torch.empty(heads).normal_(std=0.02))

    def forward(self, edges: Tensor, path: list[Tensor], count: int) -> Tensor:
        rows = torch.cat([edges, self.beyond.to(edges.dtype)[None]])
        by_position = rows @ self.weight.to(edges.dtype)  # [length, edges + 1, heads]
        total = by_position[len(path) :, -1].sum(0).expand(count, -1)
        for position, edge in zip(by_position, path, strict=False):
            total = total + position.index_select(0, edge)
        return total
