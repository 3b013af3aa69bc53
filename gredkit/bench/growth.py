"""How time and memory of a training step grow with hops and with nodes: in step with members and rows, it should be."""

from collections.abc import Sequence
from dataclasses import replace
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np
import torch
from rich.table import Table
from torch_geometric.data import Batch, Data

from gredkit import add_hops
from gredkit.bench.graphs import ATOMS, BONDS, molecules, peptides
from gredkit.bench.measure import digits
from gredkit.bench.peak import apart, forget_peak, in_use, peak
from gredkit.bench.settings import SETTINGS, Setting
from gredkit.bench.training import training

HOPS, PEPTIDES = (1, 2, 4, 8, 15, 30, 60), 16
NODES, MOLECULES, MOLECULES_K = (50, 100, 200, 500, 1000, 2000, 5000), 4, 8
LARGE_NODES, LARGE_EDGES, LARGE_K = 20_000, 100_000, 3
LAYERS, REPEATS = 4, 3


def run(quick: bool = False) -> dict[str, Any]:
    """Every point of both curves and the large graph, each in a process of its own."""
    hops, nodes, shrink = (HOPS[:2], NODES[:2], 100) if quick else (HOPS, NODES, 1)
    large = apart(_large, LARGE_NODES // shrink, LARGE_EDGES // shrink)
    return {
        "hops": _curve([(K, apart(_hops, K, 2 if quick else PEPTIDES)) for K in hops]),
        "nodes": _curve([(count, apart(_nodes, count)) for count in nodes]),
        "large_graph": {"nodes": LARGE_NODES // shrink, "edges": LARGE_EDGES // shrink, "K": LARGE_K, **large},
    }


def _curve(points: Sequence[tuple[int, dict[str, Any]]]) -> dict[str, Any]:
    """The points, and the exponents with which time and memory grow; 1 is linear."""
    work = [point["members"] + point["rows"] for _, point in points]
    return {
        "time_exponent": exponent(work, [point["ms"] for _, point in points]),
        "memory_exponent": exponent(work, [point["peak_mb"] for _, point in points]),
        "points": {str(value): point for value, point in points},
    }


def exponent(work: Sequence[float], cost: Sequence[float]) -> float:
    """The slope of cost over work where both have logarithmic scales, of the larger half of the points.

    A small step costs what calling its operations costs.
    """
    half = len(work) // 2
    return float(np.polyfit(np.log(work[-half - 1 :]), np.log(cost[-half - 1 :]), 1)[0])


def _hops(K: int, count: int) -> dict[str, Any]:
    return _measured(replace(SETTINGS["peptides"], K=K, layers=LAYERS), peptides(count))


def _nodes(nodes: int) -> dict[str, Any]:
    setting = replace(SETTINGS["zinc"], K=MOLECULES_K, layers=LAYERS)
    return _measured(setting, molecules(nodes, MOLECULES))


def _large(nodes: int, edges: int) -> dict[str, Any]:
    return _measured(replace(SETTINGS["zinc"], K=LARGE_K, layers=LAYERS), [random_graph(nodes, edges)])


def random_graph(nodes: int, edges: int) -> Data:
    """Edges between nodes drawn at random, in both directions, with the features of ZINC."""
    rng = np.random.default_rng(0)
    ends = torch.from_numpy(rng.integers(0, nodes, (2, edges)))
    return Data(
        x=torch.from_numpy(rng.integers(0, ATOMS, (nodes, 1))),
        edge_index=torch.cat([ends, ends.flip(0)], 1),
        edge_attr=torch.from_numpy(rng.integers(0, BONDS, edges)).repeat(2),
        y=torch.zeros(1),
    )


def _measured(setting: Setting, graphs: Sequence[Data]) -> dict[str, Any]:
    """Time and peak of a step, with what there is to be done in it."""
    batch = Batch.from_data_list([add_hops(graph, setting.K) for graph in graphs])
    step = training(setting.build(), setting.loss)
    before = in_use()
    step(batch)
    forget_peak()
    times = []
    for _ in range(REPEATS):
        begin = perf_counter()
        step(batch)
        times.append(perf_counter() - begin)
    members, rows = batch.hop_set_member.numel(), batch.hop_seq_set.numel()
    ms = 1e3 * median(times)
    return {
        "ms": ms,
        "peak_mb": (peak() - before) / 1e6,
        "process_peak_gb": peak() / 1e9,
        "members": members,
        "rows": rows,
        "us_per_member_and_row": 1e3 * ms / (members + rows),
    }


def table(result: dict[str, Any]) -> Table:
    """One row a point."""
    shown = Table(title=_title(result), title_justify="left", title_style="bold")
    for column in ("graphs", "members", "rows", "ms a step", "µs a member or row", "peak, MB", "whole process, GB"):
        shown.add_column(column, justify="right")
    large = result["large_graph"]
    named = {f"peptides, K = {K}": point for K, point in result["hops"]["points"].items()} | {
        f"{nodes} nodes, K = {MOLECULES_K}": point for nodes, point in result["nodes"]["points"].items()
    }
    named[f"{large['nodes']:,} nodes, {large['edges']:,} edges, K = {large['K']}"] = large
    for name, point in named.items():
        counts = [f"{point[key]:,}" for key in ("members", "rows")]
        costs = [digits(point[key]) for key in ("ms", "us_per_member_and_row", "peak_mb", "process_peak_gb")]
        shown.add_row(name, *counts, *costs)
    return shown


def _title(result: dict[str, Any]) -> str:
    said = [
        f"{kind}: time ~ work^{curve['time_exponent']:.2f}, memory ~ work^{curve['memory_exponent']:.2f}"
        for kind, curve in (("hops", result["hops"]), ("nodes", result["nodes"]))
    ]
    return f"growth of a training step of {LAYERS} layers with members and rows\n" + "\n".join(said)
