"""How time and memory of a training step grow with hops and nodes: ideally linearly in members and rows."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np
import torch
from rich.table import Table
from torch_geometric.data import Batch, Data

from gredkit import add_hops
from gredkit.bench.graphs import ATOMS, BONDS, molecules, peptides
from gredkit.bench.measure import digits, interleave, milliseconds, show
from gredkit.bench.peak import apart, in_use, peak
from gredkit.bench.settings import SETTINGS, Setting
from gredkit.bench.training import training
from gredkit.nn.hop_index import HopIndex

HOPS, PEPTIDES = (1, 2, 4, 8, 15, 30, 60), 16
NODES, MOLECULES, MOLECULES_K = (50, 100, 200, 500, 1000, 2000, 5000), 4, 8
LARGE_NODES, LARGE_EDGES, LARGE_K = 20_000, 100_000, 3
LAYERS, REPEATS = 4, 5

Case = Callable[[], tuple[Setting, Batch]]  # the model's setting and the batch


def run(quick: bool = False) -> dict[str, Any]:
    """Time the points of each curve in turns; measure memory, and the large graph, in separate processes."""
    hops, nodes, shrink = (HOPS[:2], NODES[:2], 100) if quick else (HOPS, NODES, 1)
    repeats = 1 if quick else REPEATS
    large = (LARGE_NODES // shrink, LARGE_EDGES // shrink)
    return {
        "hops": _curve({K: partial(_hops, K, 2 if quick else PEPTIDES) for K in hops}, repeats),
        "nodes": _curve({count: partial(_nodes, count) for count in nodes}, repeats),
        "large_graph": {"nodes": large[0], "edges": large[1], "K": LARGE_K, **apart(_alone, partial(_large, *large))},
    }


def _curve(cases: Mapping[int, Case], repeats: int) -> dict[str, Any]:
    """The points of a curve, and the exponents with which time and memory grow (1 is linear)."""
    points = {str(value): apart(_alone, case) for value, case in cases.items()}
    timings = interleave({str(value): _step(*case()) for value, case in cases.items()}, repeats)
    for value, timing in timings.items():
        points[value] |= milliseconds(timing)
    work = [point["members"] + point["rows"] for point in points.values()]
    return {
        "time_exponent": exponent(work, [point["ms"] for point in points.values()]),
        "memory_exponent": exponent(work, [point["peak_mb"] for point in points.values()]),
        "points": points,
    }


def exponent(work: Sequence[float], cost: Sequence[float]) -> float:
    """The slope of log(cost) over log(work), fitted to the larger half of the points.

    The cost of small steps is dominated by the overhead of each operation.
    """
    half = len(work) // 2
    return float(np.polyfit(np.log(work[-half - 1 :]), np.log(cost[-half - 1 :]), 1)[0])


def _hops(K: int, count: int) -> tuple[Setting, Batch]:
    return _indexed(replace(SETTINGS["peptides"], K=K, layers=LAYERS), peptides(count))


def _nodes(nodes: int) -> tuple[Setting, Batch]:
    return _indexed(replace(SETTINGS["zinc"], K=MOLECULES_K, layers=LAYERS), molecules(nodes, MOLECULES))


def _large(nodes: int, edges: int) -> tuple[Setting, Batch]:
    return _indexed(replace(SETTINGS["zinc"], K=LARGE_K, layers=LAYERS), [random_graph(nodes, edges)])


def _indexed(setting: Setting, graphs: Sequence[Data]) -> tuple[Setting, Batch]:
    return setting, Batch.from_data_list([add_hops(graph, setting.K) for graph in graphs])


def _step(setting: Setting, batch: Batch) -> Callable[[], None]:
    return partial(training(setting.build(), setting.loss), batch)


def random_graph(nodes: int, edges: int) -> Data:
    """A graph with random edges in both directions and the features of ZINC."""
    rng = np.random.default_rng(0)
    ends = torch.from_numpy(rng.integers(0, nodes, (2, edges)))
    return Data(
        x=torch.from_numpy(rng.integers(0, ATOMS, (nodes, 1))),
        edge_index=torch.cat([ends, ends.flip(0)], 1),
        edge_attr=torch.from_numpy(rng.integers(0, BONDS, edges)).repeat(2),
        y=torch.zeros(1),
    )


def _alone(case: Case) -> dict[str, Any]:
    """The peak memory of two steps, the time of the second one, and the amount of work in a step."""
    setting, batch = case()
    step = _step(setting, batch)
    before = in_use()
    step()
    begin = perf_counter()
    step()
    return {
        "ms": 1e3 * (perf_counter() - begin),
        "peak_mb": (peak() - before) / 1e6,
        "process_peak_gb": peak() / 1e9,
        "members": batch.hop_set_member.numel(),
        "rows": sum(HopIndex.of(batch).full_profile),  # empty hops are read too
    }


def table(result: dict[str, Any]) -> Table:
    """One row per point."""
    shown = Table(title=_title(result), title_justify="left", title_style="bold")
    for column in ("graphs", "members", "rows", "ms per step", "µs per member or row", "peak, MB", "whole process, GB"):
        shown.add_column(column, justify="right")
    large = result["large_graph"]
    named = {f"peptides, K = {K}": point for K, point in result["hops"]["points"].items()} | {
        f"{nodes} nodes, K = {MOLECULES_K}": point for nodes, point in result["nodes"]["points"].items()
    }
    named[f"{large['nodes']:,} nodes, {large['edges']:,} edges, K = {large['K']}"] = large
    for name, point in named.items():
        counts = [f"{point[key]:,}" for key in ("members", "rows")]
        ratio = digits(1e3 * point["ms"] / (point["members"] + point["rows"]))
        time = show(point) if "quartiles" in point else digits(point["ms"])
        shown.add_row(name, *counts, time, ratio, digits(point["peak_mb"]), digits(point["process_peak_gb"]))
    return shown


def _title(result: dict[str, Any]) -> str:
    said = [
        f"{kind}: time ~ work^{curve['time_exponent']:.2f}, memory ~ work^{curve['memory_exponent']:.2f}"
        for kind, curve in (("hops", result["hops"]), ("nodes", result["nodes"]))
    ]
    return f"growth of a training step of {LAYERS} layers with members and rows\n" + "\n".join(said)
