"""All ordered pairs of nodes of the same graph, for a batch of graphs of different sizes."""

from __future__ import annotations

from functools import cached_property

import torch
from torch import Tensor
from torch_geometric.data import Data

from gredkit.nn.incidence import Incidence, starts


def graph_sizes(batch: Data) -> list[int]:
    """The number of nodes of each graph, without waiting for a device where that is possible."""
    if "ptr" not in batch:
        graph = getattr(batch, "batch", None)
        return [int(batch.num_nodes or 0)] if graph is None else graph.bincount().tolist()
    slices = getattr(batch, "_slice_dict", {}).get("x")  # PyG keeps it in main memory
    if slices is not None and slices.device.type == "cpu" and len(slices) == len(batch.ptr):
        return slices.diff().tolist()
    return batch.ptr.diff().tolist()


class AllPairs:
    """All ordered pairs (first, second) of nodes of the same graph: by graph, then by first, then by second.

    Nothing here waits for a device: all shapes follow from the sizes of the graphs, which are in main memory.
    Shape: first, second [pairs]; size, node_start, pair_start [graphs]; graph, place [nodes]

    sizes: the number of nodes of each graph
    """

    def __init__(self, sizes: list[int], device: torch.device):
        self.sizes, self.num_nodes, self.count = sizes, sum(sizes), sum(n * n for n in sizes)
        self.width = max([0, *sizes])  # nodes of the largest graph
        self.size = torch.tensor(sizes, dtype=torch.long).to(device, non_blocking=True)
        self.node_start, self.pair_start = starts(self.size)[:-1], starts(self.size**2)[:-1]
        self.graph = torch.repeat_interleave(self.size, output_size=self.num_nodes)
        self.place = torch.arange(self.num_nodes, device=device) - self.node_start[self.graph]  # in its graph

    @classmethod
    def of(cls, batch: Data) -> AllPairs:
        return cls(graph_sizes(batch), batch.edge_index.device)

    @cached_property
    def rows(self) -> Tensor:
        """[nodes] the row of each node in a list of all graphs in which each has as many rows as the largest."""
        return self.graph * self.width + self.place

    def padded(self, x: Tensor) -> Tensor:
        """The rows of the nodes graph by graph, followed by zeros. Shape: [nodes, d] -> [graphs, width, d]"""
        room = x.new_zeros(len(self.sizes) * self.width, x.shape[1])
        return room.index_copy(0, self.rows, x).view(len(self.sizes), self.width, x.shape[1])

    @cached_property
    def is_padding(self) -> Tensor:
        """[graphs, width] which rows of `padded` are of no node."""
        room = torch.ones(len(self.sizes) * self.width, dtype=torch.bool, device=self.graph.device)
        return room.index_fill(0, self.rows, False).view(len(self.sizes), self.width)

    @cached_property
    def first(self) -> Tensor:
        return torch.repeat_interleave(self.size[self.graph], output_size=self.count)

    @cached_property
    def second(self) -> Tensor:
        graph = self.graph[self.first]
        before = self.pair_start[graph] + self.place[self.first] * self.size[graph]
        return self.node_start[graph] + torch.arange(self.count, device=graph.device) - before

    @cached_property
    def by_first(self) -> Incidence:
        """[nodes x pairs] the pairs of which a node is the first."""
        start = torch.cat([self.size.new_zeros(1), self.size[self.graph].cumsum(0)])
        found = Incidence(start, torch.arange(self.count, device=start.device), self.count)
        found.__dict__["transposed"] = Incidence.one_a_row(self.first, self.num_nodes)
        return found

    @cached_property
    def to_first(self) -> Incidence:
        """[pairs x nodes] the first node of each pair."""
        found = Incidence.one_a_row(self.first, self.num_nodes)
        found.__dict__["transposed"] = Incidence(self.by_first.start, self.by_first.columns, self.count)
        return found

    @cached_property
    def to_second(self) -> Incidence:
        """[pairs x nodes] the second node of each pair."""
        return Incidence.one_a_row(self.second, self.num_nodes)

    def number(self, first: Tensor, second: Tensor) -> Tensor:
        """The places of pairs in the list; both nodes must be of one graph. Shape: [...], [...] -> [...]"""
        graph = self.graph[first]
        return self.pair_start[graph] + self.place[first] * self.size[graph] + self.place[second]
