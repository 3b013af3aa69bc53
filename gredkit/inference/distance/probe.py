"""Looks into the forward pass of any model from outside: encoded features go in, states of nodes come out.

The features x are what the part `features` makes of the nodes' columns, since columns may be categories, which have no
derivative. Positional encodings and the features of edges are not part of x, so they stay as they are. A model without
such a part must read numbers in `batch.x`, which are x then. The states h are what the model hands to its method
`pool`; all of them side by side where it pools several times. Of a model that never calls `pool`, such as one that
reads a graph token, they are the last rows of nodes that one of its modules returns.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn
from torch_geometric.data import Batch

from gredkit.errors import UserError
from gredkit.nn.models.base import GraphModel

Change = Callable[[Tensor], Tensor]


@dataclass
class Seen:
    """What one forward pass showed. Shape: x [nodes, d], states [nodes, …] each, out [graphs or nodes, outputs]"""

    x: Tensor
    out: Tensor
    states: list[Tensor] = field(default_factory=list)

    @property
    def h(self) -> Tensor:
        """[nodes, d] all states side by side."""
        return torch.cat(self.states, 1)


def look(model: nn.Module, batch: Batch, change: Change | None = None, states: Sequence[Tensor] | None = None) -> Seen:
    """One forward pass.

    change: makes other features of the encoded ones. states: what the answer is made from, instead of the model's own
    """
    seen: list[Tensor] = []
    with _features(model, batch, change) as (batch, x), _pooled(model, seen, states):
        if not _calls_pool(model):
            return _look_at_modules(model, batch, x, states)
        out = model(batch)
    if not seen:
        with _features(model, batch, change) as (batch, x):
            return _look_at_modules(model, batch, x, states)
    return Seen(x[-1], out, seen)


def leaf(x: Tensor) -> Tensor:
    """The same values, as something to differentiate by."""
    return x.detach().requires_grad_()


def _calls_pool(model: nn.Module) -> bool:
    return isinstance(model, GraphModel)


@contextmanager
def _features(model: nn.Module, batch: Batch, change: Change | None) -> Iterator[tuple[Batch, list[Tensor]]]:
    """Inside, the encoded features are changed and kept in a list."""
    kept: list[Tensor] = []

    def keep(x: Tensor) -> Tensor:
        kept.append(x if change is None else change(x))
        return kept[-1]

    part = getattr(model, "features", None)
    if not isinstance(part, nn.Module):
        if not isinstance(batch.x, Tensor) or not batch.x.is_floating_point():
            raise UserError(
                f"{type(model).__name__} has no part `features`, and categories of nodes have no derivative: "
                f"let the model keep the module that encodes its nodes as `features`"
            )
        batch = copy.copy(batch)
        batch.x = keep(batch.x)
        yield batch, kept
        return
    hook = part.register_forward_hook(lambda module, given, x: keep(x))
    try:
        yield batch, kept
    finally:
        hook.remove()


@contextmanager
def _pooled(model: nn.Module, seen: list[Tensor], states: Sequence[Tensor] | None) -> Iterator[None]:
    """Inside, what the method `pool` receives is kept and, where states are given, replaced."""
    if not _calls_pool(model):
        yield
        return
    own: Any = model.pool

    def pool(h: Tensor, *others: Any) -> Tensor:
        seen.append(h)
        return own(h if states is None else states[len(seen) - 1], *others)

    model.__dict__["pool"] = pool  # hides the method of the class for as long as it is there
    try:
        yield
    finally:
        del model.__dict__["pool"]


def _look_at_modules(model: nn.Module, batch: Batch, x: list[Tensor], states: Sequence[Tensor] | None) -> Seen:
    """The last module that returns rows of nodes shows the states; a first pass finds out which call that is."""
    rows = _Rows(batch)
    calls, last = 0, -1
    found: list[Tensor] = []

    def hook(module: nn.Module, given: Any, out: Any) -> Any:
        nonlocal calls
        first = out[0] if isinstance(out, tuple) and out else out
        if not isinstance(first, Tensor) or (h := rows.of(first)) is None:
            return None
        calls += 1
        if calls - 1 != last:
            return None
        found.append(h)
        if states is None:
            return None
        put = rows.put(first, states[0])
        return (put, *out[1:]) if isinstance(out, tuple) else put

    hooks = [module.register_forward_hook(hook) for module in model.modules() if module is not model]
    try:
        out = model(batch)
        calls, last = 0, calls - 1
        del x[:-1]
        if last >= 0:
            out = model(batch)
    finally:
        for one in hooks:
            one.remove()
    if not found:
        raise UserError(f"{type(model).__name__} has no module that returns one row for each node: let it call `pool`")
    return Seen(x[-1], out, found)


class _Rows:
    """Rows of nodes in a tensor: one after another, or graph by graph, padded, behind what is no node."""

    def __init__(self, batch: Batch):
        sizes = batch.ptr.diff()
        self.nodes, self.graphs, self.width = int(batch.ptr[-1]), len(sizes), int(sizes.max())
        self.graph = batch.batch
        self.place = torch.arange(self.nodes, device=self.graph.device) - batch.ptr[:-1][self.graph]

    def of(self, out: Tensor) -> Tensor | None:
        """Shape: -> [nodes, d]; None if there are no rows of nodes."""
        if not out.is_floating_point():
            return None
        if out.dim() == 2 and len(out) == self.nodes:
            return out
        if out.dim() == 3 and len(out) == self.graphs and out.shape[1] >= self.width:
            return out[self.graph, self.place + out.shape[1] - self.width]
        return None

    def put(self, out: Tensor, rows: Tensor) -> Tensor:
        """The same tensor with other rows of nodes."""
        if out.dim() == 2:
            return rows
        return out.index_put((self.graph, self.place + out.shape[1] - self.width), rows)
