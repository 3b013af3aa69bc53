"""Arrays of many graphs in one folder: written as a stream, with checksums, read back as memory maps."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import xxhash

from gredkit.system.sealed import Damaged
from gredkit.system.untrusted import MOST, Unreadable, open_file, parse_json, read_bytes

FORMAT = 1
META = "meta"  # file with its own checksum on the first line, then JSON
READ_AT_ONCE = 1 << 22


def write(folder: Path, graphs: Iterable[Mapping[str, np.ndarray]], **about: Any) -> None:
    """Write the columns of all graphs, one file per column, with only one graph in memory at a time.

    Every graph has the same columns; only the length of an array's first axis may differ between graphs.
    """
    files: dict[str, Any] = {}
    columns: dict[str, dict[str, Any]] = {}
    hashes: dict[str, xxhash.xxh3_64] = {}
    starts: dict[str, list[int]] = {}
    count = 0
    try:
        for graph in graphs:
            count += 1
            for name, array in graph.items():
                kind = {"dtype": array.dtype.str, "shape": list(array.shape[1:])}
                if name not in files:
                    files[name], hashes[name], starts[name] = (folder / name).open("wb"), xxhash.xxh3_64(), [0]
                    columns[name] = kind
                if columns[name] != kind:
                    raise ValueError(f"column {name!r} changes from {columns[name]} to {kind}")
                files[name].write(content := array.tobytes())
                hashes[name].update(content)
                starts[name].append(starts[name][-1] + len(array))
    finally:
        for file in files.values():
            file.close()
    for name, positions in starts.items():
        start = np.array(positions, np.int64)
        (folder / f"{name}.start").write_bytes(start.tobytes())
        columns[name] |= {"checksum": hashes[name].hexdigest(), "starts": xxhash.xxh3_64_hexdigest(start.tobytes())}
    meta = json.dumps({"format": FORMAT, "graphs": count, "columns": columns, "about": about}, indent=1).encode()
    (folder / META).write_bytes(xxhash.xxh3_64_hexdigest(meta).encode() + b"\n" + meta)


class StoredArrays(Sequence[dict[str, np.ndarray]]):
    """The columns of every graph as views of memory-mapped files; raises `Damaged` if a byte has changed."""

    def __init__(self, folder: Path):
        try:
            self._open(folder)
        except Damaged:
            raise
        except OSError as error:  # another process may be deleting it right now
            raise Damaged(f"{error.filename} cannot be read") from error
        except Unreadable as error:
            raise Damaged(str(error)) from error
        except (KeyError, TypeError, ValueError, AttributeError, IndexError, OverflowError) as error:
            raise Damaged(f"its checksums are right but its content is not: {type(error).__name__}") from error

    def _open(self, folder: Path) -> None:
        meta = _read_meta(folder)
        self.about: dict[str, Any] = meta["about"]
        self._count: int = meta["graphs"]
        self._arrays: dict[str, np.ndarray] = {}
        self._starts: dict[str, np.ndarray] = {}
        for name, column in meta["columns"].items():
            for path, checksum in ((folder / name, column["checksum"]), (folder / f"{name}.start", column["starts"])):
                if _checksum(path) != checksum:
                    raise Damaged(f"{path.name} has changed since it was written")
            self._starts[name] = np.fromfile(folder / f"{name}.start", np.int64)
            shape = (int(self._starts[name][-1]), *column["shape"])
            dtype = np.dtype(column["dtype"])
            if dtype.kind not in "biufSU":  # with objects, numpy would use the file's bytes as memory addresses
                raise Damaged(f"{name} does not hold plain numbers")
            # Copy on write: torch requires writable arrays, and the file must not change.
            mapped = np.memmap(folder / name, dtype, "c", shape=shape) if 0 not in shape else np.empty(shape, dtype)
            self._arrays[name] = np.asarray(mapped)
            starts = self._starts[name]
            if len(starts) != self._count + 1 or starts[0] != 0 or (np.diff(starts) < 0).any():
                raise Damaged(f"{name} does not say where each graph begins")

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, i: Any) -> Any:
        if not 0 <= i < self._count:
            raise IndexError(i)
        return {name: array[self._starts[name][i] : self._starts[name][i + 1]] for name, array in self._arrays.items()}

    def __iter__(self) -> Iterator[dict[str, np.ndarray]]:
        return (self[i] for i in range(self._count))

    @property
    def nbytes(self) -> int:
        return sum(array.nbytes for array in self._arrays.values())


def _read_meta(folder: Path) -> dict[str, Any]:
    checksum, _, meta = read_bytes(folder / META, MOST).partition(b"\n")
    if checksum.decode(errors="replace") != xxhash.xxh3_64_hexdigest(meta):
        raise Damaged(f"{META} has changed since it was written")
    return parse_json(meta)


def _checksum(path: Path) -> str:
    digest = xxhash.xxh3_64()
    with open_file(path) as file:  # read, not mapped: mapped pages would count as this process's memory
        while block := file.read(READ_AT_ONCE):
            digest.update(block)
    return digest.hexdigest()
