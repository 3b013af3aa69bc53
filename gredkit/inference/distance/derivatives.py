"""Derivatives of a model's node states and answers by the encoded features of all nodes."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch_geometric.data import Batch, Data

from gredkit.inference.distance.probe import leaf, look
from gredkit.nn.kernels.usable import without_kernels

AT_ONCE = 4096  # nodes of a batch


class Target(NamedTuple):
    """A node of a graph that carries all that the model needs."""

    graph: Data
    node: int


def jacobian_norms(model: nn.Module, targets: Sequence[Target]) -> list[Tensor]:
    """‖∂h_v/∂x_u‖₁, the sum of absolute entries, for each target v and all nodes u of its graph. Shape: -> [nodes] each

    Each target has a copy of its graph in a batch. So one backward pass differentiates one column of h for all targets.
    """
    found: list[Tensor] = []
    for some in in_batches(targets):
        batch, places = batched(some)
        seen = look(model, batch, leaf)
        read = seen.h[places]
        norm = read.new_zeros(len(seen.x))
        for column in read.sum(0) if read.requires_grad else ():
            (slope,) = torch.autograd.grad(column, seen.x, retain_graph=True, allow_unused=True)
            norm += 0 if slope is None else slope.abs().sum(1)
        found += norm.split(batch.ptr.diff().tolist())
    return found


def mixed_norms(model: nn.Module, targets: Sequence[Target], directions: int, seed: int = 0) -> list[Tensor]:
    """Σ |∂²y/∂x_u∂x_v| over outputs and columns, for each target v and all nodes u of its graph.

    For models that answer for graphs.

    directions: how many pairs of an output and a column of x_v are differentiated; of more, so many are drawn, and the
    sum is scaled to all. Shape: -> [nodes] each
    """
    found: list[Tensor] = []
    for some in in_batches(targets):
        batch, places = batched(some)
        with twice_differentiable():
            seen = look(model, batch, leaf)
            count = seen.out.shape[1] * seen.x.shape[1]
            drawn = torch.randperm(count, generator=torch.Generator().manual_seed(seed))[:directions].sort().values
            norm = seen.x.new_zeros(len(seen.x))
            slopes: dict[int, Tensor] = {}
            for output, column in (divmod(one, seen.x.shape[1]) for one in drawn.tolist()):
                if output not in slopes:
                    slopes = {output: _slope(seen.out[:, output].sum(), seen.x, True)}
                norm += _slope(slopes[output][places, column].sum(), seen.x, False).abs().sum(1)
        found += (norm * (count / max(len(drawn), 1))).split(batch.ptr.diff().tolist())
    return found


def _slope(value: Tensor, x: Tensor, again: bool) -> Tensor:
    """The derivative; zero where there is none. again: whether it is to be differentiated once more."""
    if not value.requires_grad:
        return torch.zeros_like(x)
    (slope,) = torch.autograd.grad(value, x, retain_graph=True, create_graph=again, allow_unused=True)
    return torch.zeros_like(x) if slope is None else slope


@contextmanager
def twice_differentiable() -> Iterator[None]:
    """Inside, models use only operations that can be differentiated twice."""
    with without_kernels(), sdpa_kernel(SDPBackend.MATH):
        yield


def in_batches(targets: Sequence[Target], most: int = AT_ONCE) -> Iterator[list[Target]]:
    """The targets in groups whose graphs have at most so many nodes; a larger graph stands alone."""
    some: list[Target] = []
    nodes = 0
    for target in targets:
        size = target.graph.num_nodes or 0
        if some and nodes + size > most:
            yield some
            some, nodes = [], 0
        some.append(target)
        nodes += size
    if some:
        yield some


def batched(targets: Sequence[Target]) -> tuple[Batch, Tensor]:
    """A batch with one copy of a graph for each target, and where the targets are in it."""
    batch = Batch.from_data_list([target.graph for target in targets])
    return batch, batch.ptr[:-1] + torch.tensor([target.node for target in targets])
