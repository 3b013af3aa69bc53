"""Sum, mean and maximum over hop sets, forward and backward, with each available backend."""

from functools import partial
from typing import Any

import torch
from rich.table import Table
from torch import Tensor
from torch_geometric.data import Batch

from gredkit import HopIndex, add_hops
from gredkit.bench import graphs
from gredkit.bench.measure import interleave, milliseconds, show
from gredkit.nn.incidence import Incidence
from gredkit.nn.segments import REDUCTIONS, installed_backends, segment_reduce

BATCHES = {  # graphs, number of graphs, K, width
    "peptides": (graphs.peptides, 32, 40, 88),
    "cifar10": (graphs.cifar10, 16, 4, 96),
}


def run(quick: bool = False) -> dict[str, Any]:
    """Every reduction of every batch, with the backends in turns."""
    result: dict[str, Any] = {}
    for which, (make, count, K, dim) in BATCHES.items():
        batch = Batch.from_data_list([add_hops(graph, K) for graph in make(2 if quick else count)])
        hops = HopIndex.of(batch)
        hops.sets.transposed, hops.sets.entry_row  # noqa: B018  built once per batch, for all layers
        size = {"nodes": hops.num_nodes, "sets": hops.num_sets, "members": hops.set_member.numel(), "dim": dim}
        result[which] = {"size": size}
        torch.manual_seed(0)
        x, grad = torch.randn(hops.num_nodes, dim, requires_grad=True), torch.randn(hops.num_sets + 1, dim)
        for reduce in REDUCTIONS:
            contestants = {
                backend: partial(_pass, hops.sets, x, grad, reduce, backend) for backend in installed_backends()
            }
            timings = interleave(contestants, repeats=1 if quick else 15, warmup=1 if quick else 3)
            result[which][reduce] = {backend: milliseconds(timing) for backend, timing in timings.items()}
    return result


def _pass(sets: Incidence, x: Tensor, grad: Tensor, reduce: str, backend: str) -> None:
    torch.autograd.grad(segment_reduce(x, sets, reduce, backend), x, grad)


def table(result: dict[str, Any]) -> Table:
    """One row per batch and reduction, one column per backend."""
    title = "sets of one layer, forward and backward, ms: median (quartiles)"
    shown = Table(title=title, title_justify="left", title_style="bold")
    for column in ("batch", "sets", "members", "reduction", *installed_backends()):
        shown.add_column(column, justify="right")
    for name, row in result.items():
        size = [f"{row['size'][part]:,}" for part in ("sets", "members")]
        for reduce in REDUCTIONS:
            shown.add_row(name, *size, reduce, *(show(row[reduce][backend]) for backend in installed_backends()))
    return shown
