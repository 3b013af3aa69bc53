"""Loading: the share of a training step that is spent on making its batch from prepared graphs, in one process."""

from pathlib import Path
from statistics import median, quantiles
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

import torch
from rich.table import Table
from torch_geometric.loader import DataLoader

from gredkit.bench.measure import digits
from gredkit.bench.settings import SETTINGS, Setting, chosen
from gredkit.bench.training import training
from gredkit.data.hops.cache import prepare
from gredkit.data.hops.structure import Hops

STEPS, WARMUP = {"zinc": 60, "peptides": 12, "cifar10": 30}, 3


def run(quick: bool = False) -> dict[str, Any]:
    """Measure every setting over one epoch of memory-mapped graphs."""
    return {name: _setting(chosen(name, quick), WARMUP + (2 if quick else STEPS[name])) for name in SETTINGS}


def _setting(setting: Setting, count: int) -> dict[str, Any]:
    torch.manual_seed(0)
    loading, stepping = [], []
    with TemporaryDirectory() as folder:
        data = prepare(setting.make(count * setting.batch), [Hops(setting.K)], folder=Path(folder), progress=False)
        step = training(setting.build(), setting.loss)
        batches = iter(DataLoader(data, setting.batch, shuffle=True, drop_last=True))
        for _ in range(count):
            begin = perf_counter()
            batch = next(batches)
            loaded = perf_counter()
            step(batch)
            loading.append(loaded - begin)
            stepping.append(perf_counter() - loaded)
    loading, stepping = loading[WARMUP:], stepping[WARMUP:]
    shares = [a / (a + b) for a, b in zip(loading, stepping, strict=True)]
    return {
        "share": median(shares),
        "quartiles": quantiles(shares, n=4, method="inclusive")[::2],
        "loading_ms": 1e3 * median(loading),
        "training_ms": 1e3 * median(stepping),
        "batch": setting.batch,
    }


def table(result: dict[str, Any]) -> Table:
    """One row per setting."""
    shown = Table(title="loading a batch: median", title_justify="left", title_style="bold")
    for column in ("setting", "batch", "loading, ms", "training step, ms", "share of loading (quartiles)"):
        shown.add_column(column, justify="right")
    for name, row in result.items():
        low, high = row["quartiles"]
        share = f"{row['share']:.1%} ({low:.1%} to {high:.1%})"
        shown.add_row(name, str(row["batch"]), digits(row["loading_ms"]), digits(row["training_ms"]), share)
    return shown
