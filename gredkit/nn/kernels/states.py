"""The states of non-linear recurrences over hop sequences, with equal ones computed once."""

from dataclasses import dataclass, field
from typing import Any

from torch import Tensor

from gredkit.nn.kernels.call import call
from gredkit.nn.kernels.index import Fixed, Index, empty


@dataclass(frozen=True, eq=False)
class States(Fixed):
    """The states of a recurrence over the sequences of an index, each listed once: a forest, see states.c."""

    index: Index
    sets: Tensor = field(init=False)  # the sets that a part of the nodes reads, each once
    begin: Tensor = field(init=False)  # [parts + 1] where those of a part begin
    read: Tensor = field(init=False)  # [states] the place in `sets` of the set that a state reads
    parents: Tensor = field(init=False)  # [states] the state before it, or -1
    last: Tensor = field(init=False)  # [nodes] the state in which a node's sequence ends
    levels: Tensor = field(init=False)  # [levels + 1] where levels begin; states of a level have read as many sets
    first: Tensor = field(init=False)  # [parts + 1] the level at which a part of the nodes begins

    def __post_init__(self) -> None:
        of = self.index
        of.unchanged()
        parts = len(of.cuts) - 1
        sets, begin, read, parents = empty(len(of.sets)), empty(parts + 1), empty(len(of.sets)), empty(len(of.sets))
        last, levels, first, counts = empty(len(of)), empty(parts * of.longest + 1), empty(parts + 1), empty(2)
        call("merge_states", len(of), of.num_sets, parts, of.start, of.sets, of.cuts, sets, begin, read, parents, last,
             levels, first, counts)  # fmt: skip
        found, depth = counts.tolist()
        self._set(sets=sets[: int(begin[-1])], begin=begin, read=read[:found], parents=parents[:found], last=last)
        self._set(levels=levels[: depth + 1], first=first)
        self._set(_versions=self._counted())

    def __reduce__(self) -> Any:
        return States, (self.index,)

    def __len__(self) -> int:
        return len(self.read)

    def unchanged(self) -> None:
        super().unchanged()
        self.index.unchanged()

    @property
    def tensors(self) -> tuple[Tensor, ...]:
        """The tensors in the order of the C structure."""
        return self.index.cuts, self.read, self.parents, self.last, self.levels, self.first, self.sets, self.begin
