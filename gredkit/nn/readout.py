"""From the rows of nodes to one row per answer, for every model."""

import torch
from torch import Tensor
from torch_geometric.data import Data

from gredkit import ranges
from gredkit.errors import UserError
from gredkit.nn.incidence import Incidence
from gredkit.nn.prepared import once
from gredkit.nn.segments import segment_reduce

READOUTS = ("sum", "mean", "max", "node")


def checked_readout(readout: str | None, level: str) -> str:
    """The readout of a model for a task of level 'graph' or 'node'; None is 'sum' for graphs."""
    readout = readout or ("node" if level == "node" else "sum")
    ranges.one_of("readout", readout, READOUTS)
    if (readout == "node") != (level == "node"):
        raise UserError(f"readout {readout!r} does not give one answer for each {level}, as the task asks")
    return readout


def read_out(h: Tensor, batch: Data, readout: str) -> Tensor:
    """The sum, mean or maximum over the nodes of each graph, or with 'node' the rows as they are.

    A single graph need not be a batch. A graph without nodes is a row of zeros. Where several nodes hold the maximum,
    the first of them receives the gradient.
    Shape: [nodes, dim] -> [graphs, dim], or [nodes, dim] for readout 'node'
    """
    if readout == "node":
        return h
    return segment_reduce(h, nodes_of(batch, len(h), h.device), readout)


def nodes_of(batch: Data, count: int, device: torch.device) -> Incidence:
    """[graphs x nodes] the nodes of each graph."""
    start = batch.ptr if "ptr" in batch else torch.tensor([0, count], device=device)
    return once(batch, "nodes", (start,), lambda: Incidence(start, torch.arange(count, device=device), count))
