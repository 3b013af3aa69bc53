"""What the score becomes when a model may not use what is at distance k: how much it really uses of it."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

import torch
from torch import Tensor, nn
from torch_geometric.data import Batch, Data

from gredkit.inference.distance.derivatives import Target, batched, in_batches
from gredkit.inference.distance.distances import hops_from
from gredkit.inference.distance.probe import Change, look
from gredkit.inference.distance.sample import asked
from gredkit.nn.hop_index import HopIndex
from gredkit.nn.kernels.usable import without_kernels
from gredkit.nn.sequences.base import SequenceExtractor


class Hiding:
    """Hides hop k from every node by itself, which any model allows.

    For each target v the graph is read once more with the mean row in place of the encoded features of all nodes at
    distance k from v. Only h_v of this pass is used; a graph's answer is made from the h_v of all its nodes. So no
    layer can bring back, along another way, what is hidden.

    Shape: graphs carry all that the model needs; nodes are the targets of each graph, which are all of them if the task
    is on graphs
    """

    def __init__(self, model: nn.Module, graphs: Sequence[Data], nodes: Sequence[Sequence[int]], level: str):
        self.model, self.level = model, level
        self.graphs = list(graphs)
        self.targets = [Target(graph, v) for graph, some in zip(graphs, nodes, strict=True) for v in some]
        self.hops = [torch.from_numpy(hops_from(*target)) for target in self.targets]
        self.mean = self._mean()

    @property
    def farthest(self) -> int:
        return max(int(hops.max()) for hops in self.hops)

    def applies(self) -> bool:
        """Whether answers are made from the states of the nodes; a graph token leaves them aside."""
        if self.level == "node":
            return True
        with torch.no_grad():
            batch = Batch.from_data_list(self.graphs)
            seen = look(self.model, batch)
            return not torch.allclose(look(self.model, batch, states=[2 * h + 1 for h in seen.states]).out, seen.out)

    @torch.no_grad()
    def answers(self, hop: int | None) -> Tensor:
        """The answers with one hop hidden; None hides nothing. Shape: -> [targets or graphs, outputs]"""
        outs: list[Tensor] = []
        states: list[list[Tensor]] = []
        for some, hidden in self._parts(hop):
            batch, places = batched(some)
            seen = look(self.model, batch, self._without(hidden))
            outs.append(seen.out[places] if self.level == "node" else seen.out[:0])
            states.append([h[places] for h in seen.states])
        if self.level == "node":
            return torch.cat(outs)
        joined = [torch.cat(parts) for parts in zip(*states, strict=True)]
        return look(self.model, Batch.from_data_list(self.graphs), states=joined).out

    @torch.no_grad()
    def states(self, hop: int | None) -> Tensor:
        """h_v of all targets with one hop hidden. Shape: -> [targets, d]"""
        found = []
        for some, hidden in self._parts(hop):
            batch, places = batched(some)
            found.append(look(self.model, batch, self._without(hidden)).h[places])
        return torch.cat(found)

    def y(self) -> Tensor:
        """What the answers should be."""
        if self.level == "node":
            return torch.stack([target.graph.y[target.node] for target in self.targets])
        return torch.cat([graph.y for graph in self.graphs])

    def _parts(self, hop: int | None) -> Iterator[tuple[list[Target], Tensor]]:
        """Targets, and which nodes of their copies are hidden."""
        first = 0
        for some in in_batches(self.targets):
            hops = torch.cat(self.hops[first : first + len(some)])
            first += len(some)
            yield some, torch.zeros_like(hops, dtype=torch.bool) if hop is None else hops == hop

    def _without(self, hidden: Tensor) -> Change:
        """Puts the mean row in place of the rows of hidden nodes."""
        return lambda x: torch.where(hidden[:, None], self.mean.to(x), x)

    @torch.no_grad()
    def _mean(self) -> Tensor:
        """The mean of the encoded features over all nodes. Shape: -> [d]"""
        return look(self.model, Batch.from_data_list(self.graphs)).x.mean(0)


def reads_sequences(model: nn.Module) -> bool:
    """Whether a model has sequences of hops, in which a set can be hidden."""
    return any(isinstance(module, SequenceExtractor) for module in model.modules())


@torch.no_grad()
def answers_without_set(model: nn.Module, graphs: Sequence[Data], level: str, hop: int | None) -> tuple[Tensor, Tensor]:
    """The answers when every layer reads the empty set at place `hop` of all sequences, and what they should be.

    What is hidden may still come along another way: two layers that hear of hop 1 hear of hop 2. Shape: -> [items, …]
    """
    batch = Batch.from_data_list(list(graphs))
    with _emptied(model, hop), without_kernels():  # kernels take it that the first set of a sequence is its node
        out = model(batch)
    if level != "node":
        return out, batch.y
    start = batch.ptr.tolist()
    some = torch.cat([first + asked(graph, level) for first, graph in zip(start, graphs, strict=False)])
    return out[some], batch.y[some]


@contextmanager
def _emptied(model: nn.Module, hop: int | None) -> Iterator[None]:
    """Inside, sequence extractors put the empty set in place of one hop."""

    def empty(module: nn.Module, given: object, index: HopIndex) -> HopIndex:
        return replace(
            index, seq_set=torch.where(index.row_hop.eq(-1 if hop is None else hop), index.num_sets, index.seq_set)
        )

    extractors = [module for module in model.modules() if isinstance(module, SequenceExtractor)]
    hooks = [module.register_forward_hook(empty) for module in extractors if hop is not None]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()
