"""How much time each part of the model takes in a training step.

Here the layers run part by part, as PyTorch computes them; in real training, kernels may compute several parts or all
layers at once, which is faster.
"""

import os
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from time import perf_counter
from typing import Any

import torch
from rich.table import Table
from torch import nn
from torch.autograd.profiler_util import FunctionEvent
from torch.profiler import ProfilerActivity, profile, record_function
from torch_geometric.data import Batch

from gredkit import GRED, add_hops
from gredkit.bench.measure import digits
from gredkit.bench.settings import chosen
from gredkit.bench.training import training

MARK, BACKWARD, OPTIMISER = "part: ", "autograd::engine::evaluate_function", "Optimizer.step"
STEP, LOADING = "loss, and everything else", "loading"
MODEL, LAYER = "index, readout, and the rest of the model", "layer: everything else"
GATED = "layer: gelu, GLU, dropout"
STEPS, WARMUP = {"zinc": 10, "peptides": 2, "cifar10": 5}, 2


def run(names: Iterable[str], quick: bool = False) -> dict[str, Any]:
    """Profile each of the named settings."""
    os.environ.setdefault("KINETO_LOG_LEVEL", "99")  # otherwise the profiler prints when it starts and stops
    return {name: _setting(name, quick) for name in names}


def _setting(name: str, quick: bool) -> dict[str, Any]:
    setting = chosen(name, quick)
    torch.manual_seed(0)
    graphs = [add_hops(graph, setting.K) for graph in setting.graphs(setting.batch)]
    model = setting.build()
    step = training(model, setting.loss)
    count = 1 if quick else STEPS[name]
    for _ in range(1 if quick else WARMUP):
        step(Batch.from_data_list(graphs))
    began = perf_counter()
    for _ in range(count):
        step(Batch.from_data_list(graphs))
    whole = perf_counter() - began
    with marked(model), profile(activities=[ProfilerActivity.CPU]) as profiler:
        for _ in range(count):
            with record_function(MARK + STEP):
                with record_function(MARK + LOADING):
                    batch = Batch.from_data_list(graphs)
                step(batch)
    spent = by_part(profiler.events() or [])
    return {
        "graphs": setting.source,
        "batch": setting.batch,
        "unwatched_step_ms": 1e3 * whole / count,
        "step_ms": sum(sum(times) for times in spent.values()) / 1e3 / count,
        "parts": {
            part: {"forward_ms": forward / 1e3 / count, "backward_ms": backward / 1e3 / count}
            for part, (forward, backward) in sorted(spent.items(), key=lambda one: -sum(one[1]))
        },
    }


@contextmanager
def marked(model: GRED) -> Iterator[None]:
    """Inside this context every part of the model marks the begin and end of its forward pass in the profile."""
    with ExitStack() as stack:
        methods = [(module, "forward", part) for module, part in _parts(model)]
        methods += [(layer, "gated", GATED) for layer in model.layers]
        for module, method, part in methods:
            setattr(module, method, record_function(MARK + part)(getattr(module, method)))
            stack.callback(delattr, module, method)
        yield


def _parts(model: GRED) -> Iterator[tuple[nn.Module, str]]:
    yield model, MODEL
    for name, child in model.named_children():
        if child is not model.layers:
            yield child, name
    for layer in model.layers:
        yield layer, LAYER
        for name in ("aggregator", "mlp", "norm", "encoder"):
            yield layer.get_submodule(name), f"layer: {name}"


def by_part(events: Iterable[FunctionEvent]) -> dict[str, list[float]]:
    """Microseconds in the forward and the backward pass of each part, without counting any time twice.

    Every operation of the backward pass has the number of the forward operation that it belongs to.
    """
    ordered = sorted(events, key=lambda event: event.time_range.start)
    spent: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0])
    part_of: dict[int, str] = {}
    for event in ordered:
        if event.name.startswith(MARK):
            _charge(spent, event, event.name.removeprefix(MARK), 0)
        elif event.name.startswith(OPTIMISER):
            _charge(spent, event, "optimiser", 0)
        elif event.name.startswith(BACKWARD):
            _charge(spent, event, part_of.get(event.sequence_nr, "gradients of parameters"), 1)
        elif event.sequence_nr >= 0 and not _within_backward(event):
            part_of[event.sequence_nr] = _part(event)  # the last event with a number created its autograd node
    return dict(spent)


def _charge(spent: dict[str, list[float]], event: FunctionEvent, part: str, direction: int) -> None:
    """Add the time to the part, and subtract it from the part around it."""
    spent[part][direction] += event.time_range.elapsed_us()
    if around := _part(event):
        spent[around][0] -= event.time_range.elapsed_us()


def _part(event: FunctionEvent) -> str:
    """The innermost part around an event; empty if there is none."""
    parent = event.cpu_parent
    while parent is not None and not parent.name.startswith(MARK):
        parent = parent.cpu_parent
    return "" if parent is None else parent.name.removeprefix(MARK)


def _within_backward(event: FunctionEvent) -> bool:
    parent: FunctionEvent | None = event
    while parent is not None and not parent.name.startswith(BACKWARD):
        parent = parent.cpu_parent
    return parent is not None


def table(result: dict[str, Any]) -> Table:
    """One row per part."""
    shown = Table(title="a training step by part, ms", title_justify="left", title_style="bold")
    for column in ("setting", "part", "forward", "backward", "share"):
        shown.add_column(column, justify="left" if column == "part" else "right")
    for name, row in result.items():
        title = f"{name} ({row['graphs']}): {digits(row['step_ms'])}; {digits(row['unwatched_step_ms'])} unprofiled"
        for part, times in row["parts"].items():
            forward, backward = times["forward_ms"], times["backward_ms"]
            share = (forward + backward) / row["step_ms"]
            shown.add_row(title, part, digits(forward), digits(backward) if backward else "", f"{share:.1%}")
            title = ""
        shown.add_section()
    return shown
