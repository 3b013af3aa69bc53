"""Which rows the kernels read: checked once, when it is made, and not to be changed afterwards."""

from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from gredkit.nn.kernels.call import call, expect, expect_sizes

APART = 96  # nodes: rows for the parts that threads take by turns
MOST = 2**31 - 1  # entries


class Fixed:
    """An index whose tensors stay as they were when they were checked; copies are checked again."""

    _versions: tuple[int, ...]

    def unchanged(self) -> None:
        """Refuse one that was written to since."""
        if self._versions != self._counted():
            raise ValueError("the tensors of an index were changed after it was made: make another one")

    def _counted(self) -> tuple[int, ...]:
        return tuple(one._version for one in vars(self).values() if type(one) is Tensor)

    def _set(self, **values: Any) -> None:
        """Of a frozen class, while it is made."""
        for name, value in values.items():
            object.__setattr__(self, name, value)


@dataclass(frozen=True, eq=False)
class Sums(Fixed):
    """Which rows are added up to one: `columns[start[r]:start[r + 1]]` of `num_columns`."""

    start: Tensor  # [rows + 1]
    columns: Tensor
    num_columns: int

    def __post_init__(self) -> None:
        start, columns = _checked(self.start, self.columns, self.num_columns)
        self._set(start=start, columns=columns)
        self._set(_versions=self._counted())

    def __reduce__(self) -> Any:
        return Sums, (self.start, self.columns, self.num_columns)

    def __len__(self) -> int:
        return len(self.start) - 1

    def transposed(self) -> "Sums":
        """The rows that list each column, in their order."""
        self.unchanged()
        start, columns = _empty(self.num_columns + 1), _empty(len(self.columns))
        call("transpose", len(self), self.num_columns, self.start, self.columns, start, columns)
        return Sums(start, columns, len(self))


@dataclass(frozen=True, eq=False)
class Index(Fixed):
    """The sequences of a batch's nodes over so many sets, nearest hop first; the last set is the empty one."""

    start: Tensor  # [nodes + 1]
    sets: Tensor  # [rows]
    num_sets: int  # the empty one included
    cuts: Tensor = field(init=False)  # nodes between which no set is shared but the empty one, first and last included
    targets: Tensor = field(init=False)  # [nodes] the set at hop 0, of which each node has its own
    node: Tensor = field(init=False)  # [sets] the node whose hop 0 a set is, or -1
    longest: int = field(init=False)  # hops of a sequence

    def __post_init__(self) -> None:
        start, sets = _checked(self.start, self.sets, self.num_sets)
        if self.num_sets < 1:
            raise ValueError("there is no set, not even the empty one")
        nodes = len(start) - 1
        cuts, targets, node = (_empty(count) for count in (nodes // APART + 2, nodes, self.num_sets))
        counts = _empty(2)
        call("arrange", nodes, self.num_sets, APART, start, sets, targets, node, cuts, counts)
        parts, longest = counts.tolist()
        self._set(start=start, sets=sets, cuts=cuts[: parts + 1], targets=targets, node=node, longest=longest)
        self._set(_versions=self._counted())

    def __reduce__(self) -> Any:
        return Index, (self.start, self.sets, self.num_sets)

    def __len__(self) -> int:
        return len(self.targets)

    def expect_hops(self, width: int) -> None:
        """Refuse fewer hops than there are in a sequence."""
        self.unchanged()
        expect_sizes(width=width)
        if width < self.longest:
            raise ValueError(f"a sequence has {self.longest} hops, and there are matrices for {width}")

    @property
    def tensors(self) -> tuple[Tensor, ...]:
        """In the order in which C has them."""
        return self.start, self.sets, self.cuts, self.targets, self.node


def _checked(start: Tensor, columns: Tensor, num_columns: int) -> tuple[Tensor, Tensor]:
    """Both, contiguous and counting their changes, once it is clear that all that they list is there."""
    start, columns = map(_counting, (start, columns))
    if not isinstance(num_columns, int) or not 0 <= num_columns <= MOST or len(columns) > MOST or not len(start):
        raise ValueError(f"no index has {len(start) - 1} rows, {len(columns)} entries and {num_columns} columns")
    call("check_rows", len(start) - 1, len(columns), num_columns, start, columns)
    return start, columns


def _counting(one: Tensor) -> Tensor:
    if not isinstance(one, Tensor) or one.dim() != 1:
        raise ValueError("an index is made of tensors with one dimension")
    if one.is_inference():  # its changes are not counted
        with torch.inference_mode(False):
            one = one.clone()
    one = (one.long() if one.dtype is torch.int32 else one).contiguous()
    expect([one], [tuple(one.shape)], torch.int64)
    return one


def _empty(count: int) -> Tensor:
    with torch.inference_mode(False):
        return torch.empty(count, dtype=torch.int64, device="cpu")
