"""Public benchmarks, opened with PyG's own loaders: from local files, or downloaded."""

import logging
import os
import shutil
import warnings
from collections.abc import Callable
from contextlib import redirect_stderr
from dataclasses import dataclass
from io import StringIO
from pathlib import Path

from filelock import FileLock
from torch_geometric.data import InMemoryDataset
from torch_geometric.datasets import GNNBenchmarkDataset

from gredkit.data.collated import CollatedGraphs, ReadColumns
from gredkit.data.objectives import Objective
from gredkit.data.task import SPLITS, GraphSpec, Task
from gredkit.errors import UserError
from gredkit.paths import data_root

PYG_SPLITS = ("train", "val", "test")
WRITTEN_LAST = "pre_filter.pt"  # by PyG, when the processed files are complete
log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Benchmark:
    """A PyG dataset: its folder under the data root, and how PyG opens it there."""

    name: str  # of the dataset and of its folder
    files: tuple[str, ...]  # raw files; if one is missing, the dataset is downloaded
    load: Callable[[Path], list[InMemoryDataset]]  # opens it under a data root, one dataset per split
    processed: str = "processed"  # the subfolder in which PyG stores the processed files
    also: str = ""  # names further, optional raw files in error messages

    def folder(self, root: Path) -> Path:
        return root / self.name

    def missing(self, root: Path) -> list[str]:
        """The raw files that are missing."""
        return [file for file in self.files if not (self.folder(root) / "raw" / file).exists()]


def open_benchmark(benchmark: Benchmark, root: str | Path | None = None) -> list[InMemoryDataset]:
    """PyG's datasets, one per split; if PyG cannot open them, a `UserError` says what to do.

    If several processes call this at once, one prepares the files and the others wait.
    """
    home = data_root(root)
    if not benchmark.missing(home) and (benchmark.folder(home) / benchmark.processed / WRITTEN_LAST).exists():
        try:
            return _quietly(benchmark.load, home)
        except Exception as error:
            log.info("%s: the processed files cannot be read (%s)", benchmark.name, _cause(error))
    try:
        home.mkdir(parents=True, exist_ok=True)
        held = FileLock(home / f".{benchmark.name}.lock").acquire()
    except OSError as error:
        raise UserError(
            f"{benchmark.name} cannot be prepared in {home} ({_cause(error)}): "
            f"choose a folder that you can write to, with --data or $GREDKIT_DATA"
        ) from error
    with held:
        if benchmark.missing(home):
            _download(benchmark, home)
        return _process(benchmark, home)


def _process(benchmark: Benchmark, home: Path) -> list[InMemoryDataset]:
    processed = benchmark.folder(home) / benchmark.processed
    if processed.exists():
        try:
            return _quietly(benchmark.load, home)
        except Exception:  # partly written by a process that was stopped
            shutil.rmtree(processed)
    log.info("%s: PyG reads the raw files once and writes %s", benchmark.name, processed)
    try:
        return _quietly(benchmark.load, home)
    except Exception as error:
        shutil.rmtree(processed, ignore_errors=True)
        raise UserError(
            f"{benchmark.name} cannot be read ({_cause(error)}): replace {', '.join(benchmark.files)}"
            f"{benchmark.also} in {benchmark.folder(home) / 'raw'}, or delete them to download them again"
        ) from error


def _download(benchmark: Benchmark, home: Path) -> None:
    """Let PyG download into a separate folder, so that a failure changes nothing in the real one."""
    apart = home / f".{benchmark.name}.download"
    shutil.rmtree(apart, ignore_errors=True)
    log.info("%s: PyG downloads it into %s", benchmark.name, benchmark.folder(home))
    try:
        _quietly(benchmark.load, apart)
        for source in sorted(path for path in benchmark.folder(apart).rglob("*") if path.is_file()):
            target = home / source.relative_to(apart)
            target.parent.mkdir(parents=True, exist_ok=True)
            os.replace(source, target)
    except Exception as error:
        raise UserError(
            f"{benchmark.name} cannot be downloaded ({_cause(error)}): put {', '.join(benchmark.missing(home))}"
            f"{benchmark.also} into {benchmark.folder(home) / 'raw'}, or try again with a network connection"
        ) from error
    finally:
        shutil.rmtree(apart, ignore_errors=True)


def _quietly(load: Callable[[Path], list[InMemoryDataset]], root: Path) -> list[InMemoryDataset]:
    """Load without PyG's 'Processing...' messages, progress bars and warnings about torch.load."""
    with warnings.catch_warnings(), redirect_stderr(StringIO()):
        warnings.simplefilter("ignore")
        return load(root)


def _cause(error: Exception) -> str:
    line = (str(error).strip().splitlines() or [""])[0].strip("<> ")
    return f"{type(error).__name__}: {line}" if line else type(error).__name__


def split_task(
    name: str,
    benchmark: Benchmark,
    root: str | Path | None,
    spec: GraphSpec,
    objective: Objective,
    columns: ReadColumns,
) -> Task:
    """The task of a benchmark that is published with three splits."""
    graphs = CollatedGraphs(open_benchmark(benchmark, root), columns, spec.level)
    return Task(
        name=name,
        spec=spec,
        graphs=graphs,
        splits=dict(zip(SPLITS, graphs.ranges, strict=True)),
        objective=objective,
        notes=notes(benchmark, root, graphs),
    )


def notes(benchmark: Benchmark, root: str | Path | None, graphs: CollatedGraphs) -> dict[str, str]:
    """Where the files are, and a figure that distinguishes the published graphs from a regenerated copy."""
    return {
        "files": str(benchmark.folder(data_root(root)) / "raw"),
        "mean_nodes": f"{graphs.num_nodes / max(len(graphs), 1):.2f}",
    }


def gnn_benchmark(name: str) -> Benchmark:
    """A dataset of Dwivedi et al. (2023) other than ZINC."""
    return Benchmark(
        name,
        files=(f"{name}_v2.pt",),
        load=lambda root: [GNNBenchmarkDataset(str(root), name, split=split) for split in PYG_SPLITS],
    )
