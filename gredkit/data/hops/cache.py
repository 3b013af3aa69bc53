"""Graphs with their hop index and positional encoding, computed once and kept on disk."""

import json
import logging
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
import xxhash
from filelock import FileLock, Timeout
from threadpoolctl import threadpool_limits
from torch_geometric.data import Data

from gredkit.data.hops import stored_arrays
from gredkit.data.hops.diameter import diameter
from gredkit.data.hops.index import (
    DATASET,
    HopArrays,
    HopData,
    attach_hops,
    check_K,
    cut_arrays,
    hop_arrays,
    in_parallel,
)
from gredkit.data.hops.stored_arrays import Damaged, StoredArrays
from gredkit.data.task import Task
from gredkit.nn.positional.base import PositionalEncoding
from gredkit.paths import hop_cache
from gredkit.system.writing import writing

log = logging.getLogger(__name__)

ADVICE = "set $GREDKIT_CACHE to a folder of yours"


def prepare(
    graphs: Sequence[Data],
    K: int | None,
    positional: PositionalEncoding | None = None,
    folder: Path | None = None,
    progress: bool = True,
) -> list[HopData]:
    """The graphs with their hop index, and what the positional encoding computes once for a graph.

    Both come from the cache where they are in it, and are put there where they are not. The arrays are views
    of memory-mapped files, so several processes on one machine share them.
    """
    check_K(K)
    folder = folder or hop_cache()
    name = fingerprint(graphs)
    indexed = _hops(graphs, K, folder, name, progress)
    prepared = [attach_hops(graph, HopArrays(**arrays), K) for graph, arrays in zip(graphs, indexed, strict=True)]
    if positional is not None and positional.key:
        for graph, values in zip(prepared, _positional(graphs, positional, folder, name, progress), strict=True):
            graph[positional.key] = torch.from_numpy(values["values"])
    return prepared


def last_hop(K: int | str | None, task: Task, folder: Path | None = None, progress: bool = True) -> int | None:
    """K as `prepare` takes it: 'dataset' is the largest distance between two nodes of a training graph.

    Every graph is then read up to that hop, whatever its own diameter is: of one that reaches less far, the rest
    are empty hops; of one that reaches farther, which only a graph outside the training split can, the nodes
    beyond are not seen. A graph in several pieces counts with the largest distance within one of them.
    """
    if K != DATASET:
        check_K(K)  # type: ignore[arg-type]
        return K  # type: ignore[return-value]
    graphs = task.part("train")

    def search() -> Iterator[Mapping[str, np.ndarray]]:
        for reach in in_parallel(diameter, graphs, "diameters", progress=progress):
            yield {"diameter": np.array([reach])}

    found = cached((folder or hop_cache()) / f"diameters-{fingerprint(graphs)}-v{stored_arrays.FORMAT}", search)
    return max((int(values["diameter"][0]) for values in found), default=0)


def fingerprint(graphs: Sequence[Data]) -> str:
    """A hash of all that the graphs hold."""
    digest = xxhash.xxh3_128()
    for graph in graphs:
        for key, value in sorted(graph.to_dict().items()):
            if isinstance(value, torch.Tensor):
                array = np.ascontiguousarray(value.cpu().numpy())
                digest.update(f"{key} {array.dtype.str} {array.shape}".encode())
                digest.update(array.tobytes())
            else:
                digest.update(f"{key} {value!r}".encode())
    return digest.hexdigest()


def _hops(graphs: Sequence[Data], K: int | None, folder: Path, name: str, progress: bool) -> StoredArrays:
    def search() -> Iterable[Mapping[str, np.ndarray]]:
        if (larger := _larger(folder, name, K)) is not None:
            assert K is not None
            return (cut_arrays(HopArrays(**arrays), K)._asdict() for arrays in larger)
        return (arrays._asdict() for arrays in in_parallel(lambda g: hop_arrays(g, K), graphs, "hop index",
                                                           progress=progress))  # fmt: skip

    return cached(folder / f"hops-{name}-K{_K_name(K)}-v{stored_arrays.FORMAT}", search, K=K)


def _positional(
    graphs: Sequence[Data], positional: PositionalEncoding, folder: Path, name: str, progress: bool
) -> StoredArrays:
    settings = {name: getattr(positional, name) for name in positional.depends_on}
    settings["class"] = f"{type(positional).__module__}.{type(positional).__qualname__}"
    digest = xxhash.xxh3_64_hexdigest(json.dumps(settings, sort_keys=True).encode())

    def compute() -> Iterator[Mapping[str, np.ndarray]]:
        with threadpool_limits(1):  # the graphs are spread over the cores already
            for values in in_parallel(positional.precompute, graphs, positional.key, progress=progress):
                yield {"values": values.numpy()}

    return cached(folder / f"{positional.key}-{name}-{digest}-v{stored_arrays.FORMAT}", compute, **settings)


def _larger(folder: Path, name: str, K: int | None) -> StoredArrays | None:
    """An index of the same graphs that reaches farther, if there is a good one."""
    if K is None:
        return None
    for path in sorted(folder.glob(f"hops-{name}-K*-v{stored_arrays.FORMAT}")):
        reach = path.name.split("-")[2][1:]
        if reach == "all" or int(reach) > K:
            try:
                return StoredArrays(path)
            except Damaged:
                continue
    return None


def cached(path: Path, compute: Callable[[], Iterable[Mapping[str, np.ndarray]]], **about: Any) -> StoredArrays:
    """Open an entry of the cache; make it first where it is missing or damaged.

    One process makes it, in a folder of its own that takes its place in one step; the others wait.
    """
    if path.is_dir():
        try:
            return StoredArrays(path)
        except Damaged as damage:
            log.warning("the cache %s is damaged (%s) and is made again", path, damage)
    with writing(path.parent, ADVICE):
        path.parent.mkdir(parents=True, exist_ok=True)
        with _lock(path.with_name(f"{path.name}.lock")):
            if path.is_dir():
                try:
                    return StoredArrays(path)  # somebody else made it in the meantime
                except Damaged:
                    shutil.rmtree(path)
            unfinished = path.with_name(f"{path.name}.unfinished")
            shutil.rmtree(unfinished, ignore_errors=True)  # of a process that was killed
            try:
                unfinished.mkdir()
                stored_arrays.write(unfinished, compute(), **about)
                unfinished.rename(path)
            finally:
                shutil.rmtree(unfinished, ignore_errors=True)  # half of it would only fill a full disk
    return StoredArrays(path)


def _lock(path: Path) -> Any:
    lock = FileLock(path)
    try:
        return lock.acquire(timeout=0)
    except Timeout:
        log.warning("another process is preparing %s; waiting for it", path.stem)
        return lock.acquire()


def _K_name(K: int | None) -> str:
    return "all" if K is None else str(K)
