"""Indices of the rows that the kernels read; checked once when they are created, and unchangeable afterwards."""

from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from gredkit.nn.kernels.call import call, expect, expect_sizes

APART = 96  # the smallest number of nodes in a part that one thread works on
MOST = 2**31 - 1  # the largest number of entries


class Fixed:
    """An index whose tensors must not change after they were checked; copies are checked again."""

    _versions: tuple[int, ...]

    def unchanged(self) -> None:
        """Raise if a tensor was written to since the check."""
        if self._versions != self._counted():
            raise ValueError("the tensors of an index were changed after it was created: create a new one")

    def _counted(self) -> tuple[int, ...]:
        return tuple(one._version for one in vars(self).values() if type(one) is Tensor)

    def _set(self, **values: Any) -> None:
        """Set attributes of a frozen dataclass while it is created."""
        for name, value in values.items():
            object.__setattr__(self, name, value)


@dataclass(frozen=True, eq=False)
class Sums(Fixed):
    """Which rows are summed: row r of the result sums the rows `columns[start[r]:start[r + 1]]`."""

    start: Tensor  # [rows + 1]
    columns: Tensor
    num_columns: int  # number of rows that can be summed

    def __post_init__(self) -> None:
        start, columns = _checked(self.start, self.columns, self.num_columns)
        self._set(start=start, columns=columns)
        self._set(_versions=self._counted())

    def __reduce__(self) -> Any:
        return Sums, (self.start, self.columns, self.num_columns)

    def __len__(self) -> int:
        return len(self.start) - 1

    def transposed(self) -> "Sums":
        """For each column the rows that list it, in ascending order."""
        self.unchanged()
        start, columns = empty(self.num_columns + 1), empty(len(self.columns))
        call("transpose", len(self), self.num_columns, self.start, self.columns, start, columns)
        return Sums(start, columns, len(self))


@dataclass(frozen=True, eq=False)
class Index(Fixed):
    """The hop sequences of a batch's nodes, nearest hop first or, if they are turned, last; the last set is empty."""

    start: Tensor  # [nodes + 1]
    sets: Tensor  # [rows]
    num_sets: int  # including the empty one
    turned: bool = False
    cuts: Tensor = field(init=False)  # borders (nodes) of parts that share no set except the empty one
    targets: Tensor = field(init=False)  # [nodes] the set at hop 0; each node has its own
    node: Tensor = field(init=False)  # [sets] the node whose hop 0 is this set, or -1
    longest: int = field(init=False)  # hops in the longest sequence

    def __post_init__(self) -> None:
        start, sets = _checked(self.start, self.sets, self.num_sets)
        if self.num_sets < 1:
            raise ValueError("there must be at least one set, the empty one")
        nodes = len(start) - 1
        cuts, targets, node = (empty(count) for count in (nodes // APART + 2, nodes, self.num_sets))
        counts = empty(2)
        call("arrange", nodes, self.num_sets, APART, int(self.turned), start, sets, targets, node, cuts, counts)
        parts, longest = counts.tolist()
        self._set(start=start, sets=sets, cuts=cuts[: parts + 1], targets=targets, node=node, longest=longest)
        self._set(_versions=self._counted())

    def __reduce__(self) -> Any:
        return Index, (self.start, self.sets, self.num_sets, self.turned)

    def __len__(self) -> int:
        return len(self.targets)

    def expect_hops(self, width: int) -> None:
        """Raise if there are fewer matrices than hops in the longest sequence."""
        self.unchanged()
        expect_sizes(width=width)
        if width < self.longest:
            raise ValueError(f"a sequence has {self.longest} hops, but there are matrices for {width}")

    @property
    def tensors(self) -> tuple[Tensor, ...]:
        """The tensors in the order of the C structure."""
        return self.start, self.sets, self.cuts, self.targets, self.node


def _checked(start: Tensor, columns: Tensor, num_columns: int) -> tuple[Tensor, Tensor]:
    """Both tensors, contiguous and with version counters, after checking that all listed rows exist."""
    start, columns = map(_counting, (start, columns))
    if not isinstance(num_columns, int) or not 0 <= num_columns <= MOST or len(columns) > MOST or not len(start):
        raise ValueError(f"no index has {len(start) - 1} rows, {len(columns)} entries and {num_columns} columns")
    call("check_rows", len(start) - 1, len(columns), num_columns, start, columns)
    return start, columns


def _counting(one: Tensor) -> Tensor:
    if not isinstance(one, Tensor) or one.dim() != 1:
        raise ValueError("an index is made of tensors with one dimension")
    if one.is_inference():  # such tensors have no version counter
        with torch.inference_mode(False):
            one = one.clone()
    one = (one.long() if one.dtype is torch.int32 else one).contiguous()
    expect([one], [tuple(one.shape)], torch.int64)
    return one


def empty(count: int) -> Tensor:
    """Room for an index, also in inference mode, whose tensors would have no version counter."""
    with torch.inference_mode(False):
        return torch.empty(count, dtype=torch.int64, device="cpu")
