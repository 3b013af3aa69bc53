"""Graphs with all that a model needs of them, computed once and kept on disk."""

import copy
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
    check_K,
    in_parallel,
)
from gredkit.data.hops.stored_arrays import StoredArrays
from gredkit.data.structures import Arrays, Structure
from gredkit.data.task import Task
from gredkit.paths import hop_cache
from gredkit.system.sealed import Damaged
from gredkit.system.writing import writing

log = logging.getLogger(__name__)

ADVICE = "set $GREDKIT_CACHE to a folder of yours"


def prepare(
    graphs: Sequence[Data], needs: Iterable[Structure], folder: Path | None = None, progress: bool = True
) -> list[Data]:
    """The graphs with all that a model needs, as its method `needs` lists it; the graphs themselves stay as they are.

    Each structure comes from the cache if it is there, and is put there if it is not. The arrays are views of
    memory-mapped files, so several processes on one machine share them.
    """
    folder = folder or hop_cache()
    name = fingerprint(graphs)
    prepared = [copy.copy(graph) for graph in graphs]
    for structure in (one for one in needs if one.key):
        arrays = _arrays(graphs, structure, folder, name, progress)
        prepared = [structure.attach(graph, found) for graph, found in zip(prepared, arrays, strict=True)]
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


def _arrays(graphs: Sequence[Data], structure: Structure, folder: Path, name: str, progress: bool) -> StoredArrays:
    """What a structure computes for each graph."""

    def compute() -> Iterator[Arrays]:
        if (larger := _cut(structure, folder, name)) is not None:
            yield from larger
            return
        with threadpool_limits(1):  # the graphs are spread over the cores already
            yield from in_parallel(structure.compute, graphs, structure.key, progress=progress)

    path = folder / f"{structure.key}-{name}-{structure.label}-v{stored_arrays.FORMAT}"
    return cached(path, compute, **structure.settings())


def _cut(structure: Structure, folder: Path, name: str) -> Iterator[Arrays] | None:
    """The structure cut out of another entry of the same graphs, such as a hop index that reaches farther."""
    for path in sorted(folder.glob(f"{structure.key}-{name}-*-v{stored_arrays.FORMAT}")):
        if (cut := structure.cut_from(path.name.split("-")[-2])) is not None:
            try:
                return map(cut, StoredArrays(path))
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
