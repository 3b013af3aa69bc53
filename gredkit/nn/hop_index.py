"""The hop index of a batch, in the forms that aggregators and encoders use."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Data

from gredkit.errors import UserError
from gredkit.nn.incidence import Incidence, starts
from gredkit.nn.kernels.index import Index
from gredkit.nn.kernels.known import trusted
from gredkit.nn.kernels.states import States
from gredkit.nn.kernels.usable import outlived
from gredkit.nn.prepared import once
from gredkit.nn.stack_index import StackIndex

NOT_COPIED = ("row_node", "row_hop", "index", "states")


class Packed(NamedTuple):
    """Sequences from the farthest hop to the target, longest sequence first, in the order of a `PackedSequence`."""

    rows: Incidence  # [R x S+1], one set per row
    batch_sizes: Tensor  # in main memory
    place: Tensor  # [N] the position of a node in the sorted order


@trusted
@dataclass(frozen=True)
class HopIndex:
    """The hop sets and hop sequences of a batch of graphs.

    Row s of `sets` lists the members of set s; the last row, number S, is the empty set. The sequence of
    node v is `seq_set[seq_start[v]:seq_start[v + 1]]`, nearest hop first; encoders read it from its end. Nothing
    here waits for a device: all shapes follow from `profile`, which is in main memory.

    Shape: num_nodes N, num_sets S (without the empty set), rows R
    """

    set_size: Tensor  # [S + 1]
    set_member: Tensor  # [M]
    seq_length: Tensor  # [N]
    seq_set: Tensor  # [R]
    last_hop: Tensor  # [N] K, or the diameter of the node's graph
    profile: tuple[int, ...]  # the number of nodes whose hop k is not empty, for k = 0, 1, …
    full_profile: tuple[int, ...]  # the same, but empty hops up to K count too
    links: Tensor | None = None  # [2, E] the ends of edges that are members of sets
    steps: Tensor | None = None  # [2, steps] of walks: their starts, in ascending order, and their ends
    turned: bool = False  # whether the nearest hop stands last, see `near_to_far`

    @classmethod
    def of(cls, batch: Data) -> HopIndex:
        """The index of a PyG batch of `HopData`, or of a single `HopData`."""
        if "hop_seq_set" not in batch:
            raise UserError("this graph has no hop index: call gredkit.add_hops on it first")
        size, member = batch.hop_set_size, batch.hop_set_member
        length, sets = batch.hop_seq_length, batch.hop_seq_set

        def make() -> HopIndex:
            all_sizes = torch.cat([size, size.new_zeros(1)]).long()
            return cls(all_sizes, member.long(), length.long(), sets.long(), **_reach(batch))

        return once(batch, "hops", (size, member, length, sets), make)

    @classmethod
    def with_edges(cls, batch: Data) -> HopIndex:
        """The index of a batch of `EdgeHopData`; the members are all nodes, all edges inside hops, and all edges from
        the first to the second and from the second to the first of their ends."""
        if "hop_link_index" not in batch:
            raise UserError("this graph does not carry its edges: call gredkit.add_needs on it first")
        of_nodes = cls.of(batch)
        inside = batch.hop_link_place
        place = torch.cat([batch.hop_own_place, inside, inside + 1, inside + 2])  # graph by graph
        member = torch.empty_like(place)
        member[place] = torch.arange(len(place), device=place.device)
        return replace(of_nodes, set_member=member[of_nodes.set_member], links=batch.hop_link_index)

    @classmethod
    def of_walks(cls, batch: Data) -> HopIndex:
        """The index of a batch that carries `Walks`: set v * (K + 1) + k is what k steps lead to, without members."""
        if "hop_step_index" not in batch:
            raise UserError("this graph does not carry its walks: call gredkit.add_needs on it first")
        reach, length = _reach(batch), batch.hop_seq_length.long()
        width, nodes = len(reach["profile"]), torch.arange(len(length), device=length.device)
        node = torch.repeat_interleave(nodes, length, output_size=sum(reach["profile"]))
        place = torch.arange(len(node), device=length.device) - starts(length)[node]
        return cls(
            set_size=length.new_zeros(len(length) * width + 1),
            set_member=length.new_zeros(0),
            seq_length=length,
            seq_set=node * width + place,
            steps=batch.hop_step_index,
            **reach,
        )

    def __getstate__(self) -> dict[str, Any]:
        """For a copy, without what is needed only to make the rest."""
        return {name: value for name, value in vars(self).items() if name not in NOT_COPIED}

    @property
    def num_nodes(self) -> int:
        return self.seq_length.numel()

    @property
    def num_members(self) -> int:
        """The number of rows that can be in a set: nodes and, with `links`, each edge in three ways."""
        return self.num_nodes if self.links is None else self.num_nodes + 3 * self.links.shape[1]

    @property
    def num_sets(self) -> int:
        return self.set_size.numel() - 1

    @property
    def width(self) -> int:
        """The number of hops in the longest sequence, including hop 0."""
        return sum(count > 0 for count in self.profile)

    @cached_property
    def seq_start(self) -> Tensor:
        """[N + 1] the positions at which the sequences begin."""
        return starts(self.seq_length)

    @cached_property
    def targets(self) -> Incidence:
        """[N x S + 1] the set at hop 0 of each node, which contains only the node."""
        at = self.seq_start[1:] - 1 if self.turned else self.seq_start[:-1]
        return Incidence.one_a_row(self.seq_set[at], self.num_sets + 1)

    @cached_property
    def sets(self) -> Incidence:
        """[S + 1 x members] which nodes (and edges, if there are `links`) are in which set."""
        return Incidence(starts(self.set_size), self.set_member, self.num_members)

    @cached_property
    def steps_from(self) -> Incidence:
        """[N x steps] the steps of walks that begin in each node."""
        assert self.steps is not None
        return Incidence.by_column(self.steps[0], self.num_nodes)

    @cached_property
    def step_end(self) -> Incidence:
        """[steps x N] the node in which each step ends."""
        assert self.steps is not None
        return Incidence.one_a_row(self.steps[1], self.num_nodes)

    @cached_property
    def step_back(self) -> Incidence:
        """[steps x steps] the same step in the other direction."""
        assert self.steps is not None
        back = self.steps[1].argsort(stable=True)
        return Incidence.one_a_row(back, len(back))

    @cached_property
    def row_node(self) -> Tensor:
        """[R] the node whose sequence a row belongs to."""
        nodes = torch.arange(self.num_nodes, device=self.seq_set.device)
        return torch.repeat_interleave(nodes, self.seq_length, output_size=self.seq_set.numel())

    @cached_property
    def row_hop(self) -> Tensor:
        """[R] the place of a row in its sequence: its hop, unless the sequences are turned."""
        return torch.arange(self.seq_set.numel(), device=self.seq_set.device) - self.seq_start[self.row_node]

    @cached_property
    def rows(self) -> Incidence:
        """[R x S + 1] the set of each row; the rows of a node are consecutive, nearest hop first."""
        return Incidence.one_a_row(self.seq_set, self.num_sets + 1)

    @cached_property
    def sequences(self) -> Incidence:
        """[N x S + 1] the sets in a node's sequence, nearest hop first."""
        return Incidence(self.seq_start, self.seq_set, self.num_sets + 1)

    @cached_property
    def mask(self) -> Tensor:
        """[N, width] whether hop k is part of a node's sequence."""
        return torch.arange(self.width, device=self.seq_set.device) < self.seq_length[:, None]

    @cached_property
    def grid(self) -> Incidence:
        """[N * width x S + 1] row v * width + k has the set at hop k of node v, or nothing beyond its length."""
        if self.seq_set.numel() == self.num_nodes * self.width:
            return self.rows
        return Incidence(starts(self.mask.flatten().long()), self.seq_set, self.num_sets + 1)

    @cached_property
    def stack(self) -> StackIndex:
        """The sequences in the form that `gredkit.nn.stacked` uses."""
        return StackIndex.of(self)

    @cached_property
    def index(self) -> Index:
        """The sequences in the form that the compiled kernels use; only on a CPU."""
        return Index(outlived(self.seq_start), outlived(self.seq_set), self.num_sets + 1, self.turned)

    @cached_property
    def states(self) -> States:
        """The states of a recurrence over the sequences, each once; only on a CPU."""
        return States(self.index)

    @cached_property
    def packed(self) -> Packed:
        """The sequences in the order that PyTorch's recurrent modules use."""
        sizes = torch.tensor(self.profile[: self.width], dtype=torch.long)
        place = torch.empty_like(self.seq_length)
        order = self.seq_length.argsort(descending=True, stable=True)
        place[order] = torch.arange(self.num_nodes, device=order.device)
        step = self.seq_length[self.row_node] - 1 - self.row_hop  # farthest hop first
        position = starts(sizes).to(step.device, non_blocking=True)[step] + place[self.row_node]
        packed = torch.empty_like(self.seq_set)
        packed[position] = self.seq_set
        return Packed(Incidence.one_a_row(packed, self.num_sets + 1), sizes, place)

    @cached_property
    def with_empty_hops(self) -> HopIndex:
        """The same index with every sequence of length K + 1; the missing hops are the empty set."""
        length = self.last_hop + 1
        seq_set = torch.full((sum(self.full_profile),), self.num_sets, device=self.seq_set.device)
        seq_set[starts(length)[self.row_node] + self.row_hop] = self.seq_set
        full = replace(self, seq_length=length, seq_set=seq_set, profile=self.full_profile)
        full.__dict__["sets"] = self.sets
        return full

    @cached_property
    def near_to_far(self) -> HopIndex:
        """The same index with every sequence turned: encoders read the target first and the farthest hop last."""
        last = self.seq_start[1:][self.row_node] - 1
        turned = replace(self, seq_set=self.seq_set[last - self.row_hop], turned=not self.turned)
        turned.__dict__["sets"] = self.sets
        return turned


def _reach(batch: Data) -> dict[str, Any]:
    """How far the sequences of each graph reach."""
    profiles = batch.hop_profile
    profiles = [profiles] if isinstance(profiles, np.ndarray) else profiles
    of_graph = getattr(batch, "batch", None)
    K = batch.hop_K
    return {
        "last_hop": K.expand(batch.num_nodes) if of_graph is None else K[of_graph],
        "profile": _total(profiles),
        "full_profile": _total([np.full_like(p, p[0]) for p in profiles]),
    }


def _total(profiles: Sequence[np.ndarray]) -> tuple[int, ...]:
    """The sum of the graphs' profiles, which may differ in length."""
    total = np.zeros(max(map(len, profiles)), np.int64)
    for profile in profiles:
        total[: len(profile)] += profile
    return tuple(total.tolist())
