"""Peak memory while preparing Peptides-func with K = 40, and during a pass over its prepared batches."""

from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

from rich.table import Table
from torch_geometric.data import Data
from torch_geometric.loader import DataLoader

from gredkit.bench.graphs import peptides
from gredkit.bench.peak import apart, peak
from gredkit.bench.settings import SETTINGS
from gredkit.data.hops.cache import prepare
from gredkit.data.hops.structure import Hops
from gredkit.registry import DATASETS

K, BATCH, GRAPHS = 40, 32, 15535


def run(quick: bool = False) -> dict[str, Any]:
    """Each step in a separate process, so that the peaks are independent."""
    real = SETTINGS["peptides"].is_real and not quick
    count = 8 if quick else GRAPHS
    with TemporaryDirectory() as folder:
        steps = {
            name: apart(_measured, step, real, count, Path(folder))
            for name, step in (("graphs alone", _graphs), ("prepare", _prepare), ("load", _prepare), ("pass", _pass))
        }
        size = sum(path.stat().st_size for path in Path(folder).rglob("*"))
    return {"graphs": "peptides_func" if real else f"{count} synthetic", "cache_gb": size / 1e9, "steps": steps}


def _measured(step: Callable[[bool, int, Path], object], *arguments: Any) -> dict[str, float]:
    begin = perf_counter()
    step(*arguments)
    return {"peak_gb": peak() / 1e9, "seconds": perf_counter() - begin}


def _graphs(real: bool, count: int, folder: Path) -> Sequence[Data]:
    return DATASETS["peptides_func"]().graphs if real else peptides(count)


def _prepare(real: bool, count: int, folder: Path) -> list[Any]:
    return prepare(_graphs(real, count, folder), [Hops(K)], folder=folder, progress=False)


def _pass(real: bool, count: int, folder: Path) -> None:
    for _ in DataLoader(_prepare(real, count, folder), BATCH):
        pass


def table(result: dict[str, Any]) -> Table:
    """One row per step."""
    title = f"{result['graphs']}, K = {K}: {result['cache_gb']:.2f} GB on disk"
    shown = Table(title=title, title_justify="left", title_style="bold")
    for column in ("a process that …", "peak memory, GB", "seconds"):
        shown.add_column(column, justify="right")
    said = {"graphs alone": "only loads the graphs", "prepare": "prepares them", "load": "loads prepared graphs",
            "pass": "and makes all batches"}  # fmt: skip
    for name, row in result["steps"].items():
        shown.add_row(said[name], f"{row['peak_gb']:.2f}", f"{row['seconds']:.1f}")
    return shown
