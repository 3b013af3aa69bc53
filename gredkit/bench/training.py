"""A training step of GRED, compared with a dense implementation of the same function and with GPS."""

from collections.abc import Callable, Sequence
from functools import partial
from inspect import signature
from statistics import fmean
from typing import Any

import torch
from rich.table import Table
from torch import Tensor, nn
from torch_geometric.data import Batch, Data

from gredkit import add_hops
from gredkit.bench.measure import digits, interleave, milliseconds, show
from gredkit.bench.oracle import DenseBatch, DenseGRED, dense_batch
from gredkit.bench.peak import apart, forget_peak, in_use, peak
from gredkit.bench.settings import SETTINGS, Setting, chosen
from gredkit.nn.models.gps import GPS
from gredkit.nn.parameters import count_parameters, width_for
from gredkit.training.device import keep_pages

AGREEMENT = 1e-3  # relative to the largest output: far more than rounding, far less than a different function
OURS, EVALUATING, ORACLE, PUBLISHED = "gredkit", "gredkit evaluating", "oracle", "published way"
RIVAL, AS_LARGE = "gps", "gps of our size"
CONTESTANTS = (OURS, EVALUATING, ORACLE, PUBLISHED, RIVAL, AS_LARGE)
ENOUGH = 2  # batches for the published way: padding makes all of them alike, and they take long
TITLE = """training step: median (quartiles); peak memory of a step above what the process held before
oracle: dense GRED, padded to the largest graph of a batch, with one mask per hop and complex states
published way: the same, but as in the published code padded to the dataset's largest graph, with a parallel scan
gps: the model `gps` with the sizes of GraphGPS, without positional encodings; of our size: as wide as gives it
as many parameters as GRED has"""

Step = Callable[[], object]


def run(quick: bool = False) -> dict[str, Any]:
    """Measure every setting, with the contestants in turns."""
    return {name: _setting(name, quick) for name in SETTINGS}


def _setting(name: str, quick: bool) -> dict[str, Any]:
    setting = chosen(name, quick)
    graphs = setting.graphs(setting.batch * setting.batches)
    some = graphs[: setting.batch]
    memory = {one: apart(_peak_mb, name, quick, one, _raced(setting, one, some)) for one in CONTESTANTS}
    _require_agreement(setting, graphs[: setting.oracle_batch])
    raced = {one: _raced(setting, one, graphs) for one in CONTESTANTS}
    timings = interleave({one: partial(_take, steps(setting, one, raced[one])) for one in raced}, setting.repeats)
    rows: dict[str, dict[str, Any]] = {}
    for one, timing in timings.items():
        batch = _batch(setting, one)
        rows[one] = milliseconds(timing.per(len(raced[one])), "ms_per_graph")
        rows[one] |= {"batch": batch, "peak_mb": memory[one], "peak_mb_per_graph": memory[one] / batch}
    ours = rows[OURS]
    return {
        "speedup_vs_oracle": rows[ORACLE]["ms_per_graph"] / ours["ms_per_graph"],
        "speedup_vs_published_way": rows[PUBLISHED]["ms_per_graph"] / ours["ms_per_graph"],
        "speedup_vs_gps": rows[RIVAL]["ms_per_graph"] / ours["ms_per_graph"],
        "speedup_vs_gps_of_our_size": rows[AS_LARGE]["ms_per_graph"] / ours["ms_per_graph"],
        "evaluation_speedup": ours["ms_per_graph"] / rows[EVALUATING]["ms_per_graph"],
        "memory_vs_oracle": ours["peak_mb_per_graph"] / rows[ORACLE]["peak_mb_per_graph"],
        "memory_vs_published_way": ours["peak_mb_per_graph"] / rows[PUBLISHED]["peak_mb_per_graph"],
        "memory_vs_gps": ours["peak_mb_per_graph"] / rows[RIVAL]["peak_mb_per_graph"],
        "contestants": rows,
        "parameters": {
            OURS: count_parameters(setting.build()),
            **{one: count_parameters(rival(setting, one)) for one in (RIVAL, AS_LARGE)},
        },
        "graphs": setting.source,
        "nodes_per_graph": fmean(graph.num_nodes for graph in graphs),
    }


def _batch(setting: Setting, contestant: str) -> int:
    return setting.oracle_batch if contestant in (ORACLE, PUBLISHED) else setting.batch


def _raced(setting: Setting, contestant: str, graphs: Sequence[Data]) -> Sequence[Data]:
    return graphs[: ENOUGH * _batch(setting, contestant)] if contestant == PUBLISHED else graphs


def _take(steps: Sequence[Step]) -> None:
    for step in steps:
        step()


def steps(setting: Setting, contestant: str, graphs: Sequence[Data]) -> list[Step]:
    """One call per batch for a contestant; everything that can be prepared is prepared before."""
    size = _batch(setting, contestant)
    parts = [graphs[i : i + size] for i in range(0, len(graphs), size)]
    torch.manual_seed(0)
    if contestant in (RIVAL, AS_LARGE):
        step = training(rival(setting, contestant), setting.loss)
        return [partial(step, Batch.from_data_list(part)) for part in parts]
    if contestant in (ORACLE, PUBLISHED):
        step = training(DenseGRED(setting.build(), scan=contestant == PUBLISHED), setting.loss)
        pad = setting.largest if contestant == PUBLISHED else 0
        return [partial(step, Batch.from_data_list(part), dense_batch(part, setting.K, pad)) for part in parts]
    start = training if contestant == OURS else evaluating
    step = start(setting.build(), setting.loss)
    return [partial(step, Batch.from_data_list([add_hops(graph, setting.K) for graph in part])) for part in parts]


def rival(setting: Setting, contestant: str) -> GPS:
    """GPS in its published size, or with the number of parameters that GRED has."""
    if contestant == RIVAL:
        return GPS(setting.spec, **setting.gps)
    heads = signature(GPS).parameters["heads"].default  # which divides the width

    def build(width: int) -> GPS:
        return GPS(setting.spec, **{**setting.gps, "dim": heads * width})

    return build(width_for(build, count_parameters(setting.build())))


def training(model: nn.Module, loss: Callable[[Tensor, Tensor], Tensor]) -> Callable[..., None]:
    """A function of a batch that does a training step: forward, loss, backward, optimiser."""
    keep_pages()  # as in training; all contestants benefit
    optimiser = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.1, fused=True)
    model.train()

    def step(batch: Data, *dense: DenseBatch) -> None:
        optimiser.zero_grad()
        loss(model(batch, *dense), batch.y).backward()
        optimiser.step()

    return step


def evaluating(model: nn.Module, loss: Callable[[Tensor, Tensor], Tensor]) -> Callable[..., None]:
    """A function of a batch that computes forward pass and loss without gradients."""
    model.eval()

    @torch.no_grad()
    def step(batch: Data) -> None:
        loss(model(batch), batch.y)

    return step


def _peak_mb(name: str, quick: bool, contestant: str, graphs: Sequence[Data]) -> float:
    """Mean over the steps of the peak memory above what the process used before the first step."""
    taken = steps(chosen(name, quick), contestant, graphs)
    before = in_use()
    taken[0]()  # allocates gradients and the optimiser's state
    peaks = []
    for step in taken:
        forget_peak()
        step()
        peaks.append(peak() - before)
    return fmean(peaks) / 1e6


@torch.no_grad()
def _require_agreement(setting: Setting, graphs: Sequence[Data]) -> None:
    """Raise unless gredkit and the dense oracle compute the same: otherwise the comparison means nothing."""
    model = setting.build().eval()
    ours = model(Batch.from_data_list([add_hops(graph, setting.K) for graph in graphs]))
    batch = Batch.from_data_list(graphs)
    for theirs in (
        DenseGRED(model)(batch, dense_batch(graphs, setting.K)),
        DenseGRED(model, scan=True)(batch, dense_batch(graphs, setting.K, setting.largest)),
    ):
        difference, largest = (ours - theirs).abs().max().item(), theirs.abs().max().item()
        if not difference <= AGREEMENT * largest:  # which may be 0: a small model may have a dead head
            raise RuntimeError(f"gredkit and its dense oracle differ by {difference:.1e} of {largest:.1e}: a bug")


def table(result: dict[str, Any]) -> Table:
    """One row per setting and contestant."""
    shown = Table(title=TITLE, title_justify="left", title_style="bold")
    for column in ("setting", "contestant", "batch", "ms per graph", "gredkit faster", "MB per step", "MB per graph"):
        shown.add_column(column, justify="right")
    for name, row in result.items():
        title = f"{name} ({row['graphs']}, {row['nodes_per_graph']:.0f} nodes)"
        sizes = row["parameters"]
        ours = row["contestants"][OURS]["ms_per_graph"]
        for one, found in row["contestants"].items():
            faster = "" if one == OURS else f"{found['ms_per_graph'] / ours:.2f} x"
            time, memory = show(found, "ms_per_graph"), digits(found["peak_mb_per_graph"])
            one = f"{one}, {round(sizes[one], -3):,} parameters" if one in sizes else one
            shown.add_row(title, one, str(found["batch"]), time, faster, f"{found['peak_mb']:.0f}", memory)
            title = ""
        shown.add_section()
    return shown
