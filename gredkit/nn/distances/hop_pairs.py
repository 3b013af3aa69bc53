"""The pairs of nodes that a hop index holds, one by one."""

from functools import cached_property
from itertools import accumulate, zip_longest

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Data

from gredkit.nn.hop_index import HopIndex
from gredkit.nn.incidence import Incidence, starts


class HopPairs:
    """The ordered pairs of nodes of a batch up to its last hop: by distance, then by target, then by source.

    With `CountedHops` nothing here waits for a device; with a plain hop index it waits once, to count the pairs.
    Shape: target, source, distance [pairs]
    """

    def __init__(self, batch: Data):
        hops = HopIndex.of(batch)
        order = hops.row_hop.argsort(stable=True)  # a row is a node and a hop, and its set are the sources
        sets = hops.seq_set[order]
        self.num_nodes, self.width = hops.num_nodes, hops.width
        self._row_target, self._row_distance, self._row_size = (
            hops.row_node[order],
            hops.row_hop[order],
            hops.set_size[sets],
        )
        self._row_start = list(accumulate(hops.profile, initial=0))  # the rows of each hop
        self._pair_start = list(accumulate(self._counts(batch), initial=0))  # the pairs of each hop
        self._row = torch.repeat_interleave(self._row_size, output_size=self._pair_start[-1])
        place = torch.arange(len(self._row), device=order.device) - starts(self._row_size)[self._row]
        self.source = hops.set_member[starts(hops.set_size)[sets][self._row] + place]

    @cached_property
    def target(self) -> Tensor:
        return self._row_target[self._row]

    @cached_property
    def distance(self) -> Tensor:
        return self._row_distance[self._row]

    def neighbours(self, distance: int) -> Incidence:
        """[nodes x nodes] who is at this distance from whom."""
        rows = slice(*self._row_start[distance : distance + 2])
        size = self._row_size.new_zeros(self.num_nodes)
        size[self._row_target[rows]] = self._row_size[rows]
        source = self.source[slice(*self._pair_start[distance : distance + 2])]
        found, mirrored = (Incidence(starts(size), source, self.num_nodes) for _ in range(2))
        found.__dict__["transposed"] = mirrored  # distances are symmetric; another object, to avoid a reference cycle
        return found

    def _counts(self, batch: Data) -> list[int]:
        """The number of pairs at each distance."""
        if "hop_pairs" not in batch:
            return self._row_size.new_zeros(self.width).index_add(0, self._row_distance, self._row_size).tolist()
        of_graphs = [batch.hop_pairs] if isinstance(batch.hop_pairs, np.ndarray) else batch.hop_pairs
        return [sum(at) for at in zip_longest(*(counts.tolist() for counts in of_graphs), fillvalue=0)]
