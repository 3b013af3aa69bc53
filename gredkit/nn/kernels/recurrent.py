"""Non-linear recurrences over hop sequences: RNN, LSTM and GRU, with equal states computed once."""

import ctypes
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from gredkit.nn.kernels.build import library
from gredkit.nn.kernels.call import call, expect, expect_sizes
from gredkit.nn.kernels.index import Fixed, Index, empty
from gredkit.nn.kernels.shapes import Weights, columns, rows

KINDS = {"RNN": (0, 1), "LSTM": (1, 4), "GRU": (2, 3)}  # number in the C code, number of gates
MOST_KEPT = 2**26  # bytes of one layer; what is larger is faster computed again than written and read


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


class _Shape(ctypes.Structure):
    """All sizes, as a C structure."""

    _fields_ = tuple((name, ctypes.c_int64) for name in ("kind", "nodes", "sets", "cuts", "states", "n", "d"))


def recurrent(kind: str, z: Tensor, weights: Weights, states: States, keep: bool) -> tuple[Tensor, Tensor | None]:
    """The last state of each node, and what the backward pass uses. Shape: z [sets, d] -> [nodes, n]

    weights: W [gates n, d] and bias [gates n] of the gates' inputs, U [gates n, n] and, for a GRU, b [n] inside its
    last gate: what is added to U s before the reset gate multiplies
    """
    shape = _checked(kind, z, weights, states)
    room = _room(shape)
    records = z.new_empty(room) if keep and room * 4 <= MOST_KEPT else None
    s = z.new_empty(shape.nodes, shape.n)
    call("recurrent_forward", shape, states.tensors, z, tuple(weights), records, s)
    return s, records


def recurrent_backward(
    kind: str, z: Tensor, weights: Weights, states: States, records: Tensor | None, into_s: Tensor
) -> tuple[Tensor, ...]:
    """The gradients of z and of the weights."""
    shape = _checked(kind, z, weights, states)
    expect([into_s], [(shape.nodes, shape.n)])
    if records is not None:
        expect([records], [(_room(shape),)])
    into_z, *into = torch.empty_like(z), *map(torch.zeros_like, weights)
    call("recurrent_backward", shape, states.tensors, z, tuple(weights), records, into_s, into_z, tuple(into))
    return into_z, *into


def numbers(kind: str) -> tuple[int, int]:
    """The number of a recurrence in the C code, and that of its gates."""
    if kind not in KINDS:
        raise ValueError(f"a recurrence is one of {', '.join(KINDS)}, not {kind!r}")
    return KINDS[kind]


def _checked(kind: str, z: Tensor, weights: Weights, states: States) -> _Shape:
    """The sizes, after checking that all tensors have them."""
    number, gates = numbers(kind)
    n, d, sets = rows(weights, 3), columns(z), states.index.num_sets
    expect_sizes(gates=gates * n)
    expect([z, *weights], [(sets, d), (gates * n, d), (gates * n,), (gates * n, n), (n,)])
    states.unchanged()
    return _Shape(number, len(states.index), sets, len(states.first) - 1, len(states), n, d)


def _room(shape: _Shape) -> int:
    """How many numbers the records of all states have."""
    found = library()
    assert found is not None
    return found.records_room(ctypes.byref(shape))
