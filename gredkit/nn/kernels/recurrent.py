"""Non-linear recurrences over hop sequences: RNN, LSTM and GRU, with equal states computed once."""

import ctypes
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from gredkit.nn.kernels.build import library
from gredkit.nn.kernels.call import call, expect, expect_sizes
from gredkit.nn.kernels.index import Fixed, Index, empty
from gredkit.nn.kernels.shapes import columns, rows

KINDS = {"RNN": (0, 1), "LSTM": (1, 4), "GRU": (2, 3)}  # number in the C code, number of gates
MOST_KEPT = 2**26  # bytes of one layer; what is larger is faster computed again than written and read


@dataclass(frozen=True, eq=False)
class States(Fixed):
    """The states of a recurrence over the sequences of an index, each listed once: a forest, see states.c."""

    index: Index
    sets: Tensor = field(init=False)  # [states] the set that a state reads
    parents: Tensor = field(init=False)  # [states] the state before it, or -1
    last: Tensor = field(init=False)  # [nodes] the state in which a node's sequence ends
    levels: Tensor = field(init=False)  # [levels + 1] where levels begin; states of a level have read as many sets
    first: Tensor = field(init=False)  # [parts + 1] the level at which a part of the nodes begins

    def __post_init__(self) -> None:
        of = self.index
        of.unchanged()
        parts = len(of.cuts) - 1
        sets, parents, last = empty(len(of.sets)), empty(len(of.sets)), empty(len(of))
        levels, first, counts = empty(parts * of.longest + 1), empty(parts + 1), empty(2)
        call("merge_states", len(of), parts, of.start, of.sets, of.cuts, sets, parents, last, levels, first, counts)
        found, depth = counts.tolist()
        self._set(sets=sets[:found], parents=parents[:found], last=last, levels=levels[: depth + 1], first=first)
        self._set(_versions=self._counted())

    def __reduce__(self) -> Any:
        return States, (self.index,)

    def __len__(self) -> int:
        return len(self.sets)

    def unchanged(self) -> None:
        super().unchanged()
        self.index.unchanged()

    @property
    def tensors(self) -> tuple[Tensor, ...]:
        """The tensors in the order of the C structure."""
        return self.index.cuts, self.sets, self.parents, self.last, self.levels, self.first


class _Shape(ctypes.Structure):
    """All sizes, as a C structure."""

    _fields_ = tuple((name, ctypes.c_int64) for name in ("kind", "nodes", "sets", "cuts", "states", "n"))


def recurrent(kind: str, p: Tensor, U: Tensor, b: Tensor, states: States, keep: bool) -> tuple[Tensor, Tensor | None]:
    """The last state of each node, and what the backward pass uses. Shape: p [sets, gates n] -> [nodes, n]"""
    shape = _checked(kind, p, U, b, states)
    room = _room(shape)
    records = p.new_empty(room) if keep and room * 4 <= MOST_KEPT else None
    s = p.new_empty(shape.nodes, shape.n)
    call("recurrent_forward", shape, states.tensors, p, U, b, records, s)
    return s, records


def recurrent_backward(
    kind: str, p: Tensor | None, U: Tensor, b: Tensor, states: States, records: Tensor | None, into_s: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """The gradients of p, U and b; p is read only without records."""
    shape = _checked(kind, p, U, b, states, reads_p=records is None)
    expect([into_s], [(shape.nodes, shape.n)])
    if records is not None:
        expect([records], [(_room(shape),)])
    into_p, into_U, into_b = U.new_empty(shape.sets, len(U)), torch.empty_like(U), torch.zeros_like(b)
    p = p if records is None else None
    call("recurrent_backward", shape, states.tensors, p, U, b, records, into_s, into_p, into_U, into_b)
    return into_p, into_U, into_b


def numbers(kind: str) -> tuple[int, int]:
    """The number of a recurrence in the C code, and that of its gates."""
    if kind not in KINDS:
        raise ValueError(f"a recurrence is one of {', '.join(KINDS)}, not {kind!r}")
    return KINDS[kind]


def _checked(kind: str, p: Any, U: Tensor, b: Tensor, states: States, reads_p: bool = True) -> _Shape:
    """The sizes, after checking that all tensors have them."""
    number, gates = numbers(kind)
    n = columns(U)
    expect_sizes(gates=gates * n, rows=rows([U], 0))
    expect([U, b], [(gates * n, n), (n,)])
    if reads_p:
        expect([p], [(states.index.num_sets, gates * n)])
    states.unchanged()
    return _Shape(number, len(states.index), states.index.num_sets, len(states.first) - 1, len(states), n)


def _room(shape: _Shape) -> int:
    """How many numbers the records of all states have."""
    found = library()
    assert found is not None
    return found.records_room(ctypes.byref(shape))
