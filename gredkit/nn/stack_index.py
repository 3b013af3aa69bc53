"""The hop sequences of a batch in the forms that `gredkit.nn.stacked` reads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from gredkit.nn.incidence import Incidence, starts

if TYPE_CHECKING:
    from gredkit.nn.hop_index import HopIndex

MOST_ROWS = 1.5  # for each set, up to which each place of a sequence may have a set of its own


@dataclass(frozen=True)
class StackIndex:
    """Which rows are summed and looked up in each layer. Shape: nodes N, sets S, hops width"""

    width: int
    sets: Incidence  # [S x N]
    grid: Incidence | None  # [N * width x S] the set at hop k of node v; None if row v * width + k is that set
    targets: Incidence  # [N x S] the set of the node alone
    sums: Incidence  # [S x S + N] the sums over the sets of what a layer writes: a row per set, and a row per node
    written: Incidence  # [N x S + N] what a layer gives: of what it writes, the row of the node and that of its own set
    places: Tensor  # [width, 1, 2] -k and k of each place k, by which powers are taken
    signs: Tensor  # [2, 2] of the two parts of a complex number, and of its conjugate: 1, 1 and 1, -1

    @classmethod
    def of(cls, hops: HopIndex) -> StackIndex:
        """Sets once, however many nodes share them."""
        return cls._of(hops.width, hops.sets, hops.grid, hops.targets)

    @classmethod
    def ahead(cls, hops: HopIndex) -> StackIndex:
        """The index for a GPU, made on the host.

        Where few nodes share their sets, each place of a sequence has its own: there a launch for looking them up
        costs more than computing some of them twice.
        """
        rows = hops.num_nodes * hops.width
        return cls.apart(hops) if hops.seq_set.numel() == rows <= MOST_ROWS * hops.num_sets else cls.of(hops)

    @classmethod
    def apart(cls, hops: HopIndex) -> StackIndex:
        """Each place of a sequence has its own set; all sequences have the same length. It waits for the device."""
        size = hops.set_size[hops.seq_set]
        start, device = starts(size), size.device
        from_member = torch.repeat_interleave(hops.sets.start[hops.seq_set] - start[:-1], size)
        columns = hops.set_member[from_member + torch.arange(len(from_member), device=device)]
        at = torch.arange(hops.num_nodes, device=device) * hops.width + (hops.width - 1 if hops.turned else 0)
        targets = Incidence.one_a_row(at, len(size))
        return cls._of(hops.width, Incidence(start, columns, hops.num_members), None, targets)

    @classmethod
    def _of(cls, width: int, sets: Incidence, grid: Incidence | None, targets: Incidence) -> StackIndex:
        node = torch.arange(targets.num_rows + 1, device=sets.columns.device)
        both = torch.stack([targets.columns, node[:-1] + sets.num_rows], 1)
        count = sets.num_rows + targets.num_rows
        k, corner = torch.arange(width, device=node.device), torch.arange(2, device=node.device)
        return cls(
            width, sets, grid, targets,
            sums=Incidence(2 * sets.start, both[sets.columns].flatten(), count),
            written=Incidence(2 * node, both.flatten(), count),
            places=torch.stack([-k, k], 1)[:, None],
            signs=1 - 2 * corner * corner[:, None],
        )  # fmt: skip
