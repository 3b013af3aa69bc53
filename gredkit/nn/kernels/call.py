"""The only place that calls C; everything that C reads and writes is checked before."""

import ctypes
import threading
from collections.abc import Sequence
from functools import cache
from typing import Any

import torch
from torch import Tensor, nn

from gredkit.nn.kernels.build import library

LARGEST = 2**24  # columns of a row, or hops: the kernels count the numbers of a few rows in 32 bits
PLAIN = (Tensor, nn.Parameter)  # a subclass may give its numbers another meaning
STATUS = {  # the return values of the functions, as in common.h
    1: (MemoryError, "there is not enough memory for a kernel and its threads"),
    2: (IndexError, "an index names a row that does not exist, or the starts of its rows are not in order"),
    3: (IndexError, "two nodes have the same set at hop 0, but each node must have its own"),
}

CALLED: set[str] = set()  # the functions that ran in this process
_threads = threading.local()  # how many OpenMP threads each Python thread has started


def call(name: str, *arguments: Any) -> None:
    """Call a kernel with as many threads as PyTorch uses; raises an exception if it fails."""
    found, threads = library(), torch.get_num_threads()
    if found is None:
        raise RuntimeError("there are no compiled kernels: gredkit.nn.kernels.build.why_none() says why")
    if getattr(_threads, "count", 0) != threads:
        _threads.count = 0  # until they have started
        _check(found.start_threads(threads))
        _threads.count = threads
    try:
        status = getattr(found, name)(threads, *map(_as_c, arguments))
    except ctypes.ArgumentError as error:
        raise ValueError(f"{name} takes arguments of other types: {error}") from None
    _check(status)
    CALLED.add(name)


def _check(status: int) -> None:
    if status:
        kind, said = STATUS[status]
        raise kind(said)


def expect(tensors: Sequence[Tensor], shapes: Sequence[tuple[int, ...]], dtype: torch.dtype = torch.float32) -> None:
    """Raise unless the tensors have these shapes and dtype and are plain, contiguous and on the CPU."""
    if len(tensors) != len(shapes):
        raise ValueError(f"a kernel takes {len(shapes)} tensors here, not {len(tensors)}")
    for tensor, shape in zip(tensors, shapes, strict=True):
        if (
            type(tensor) not in PLAIN
            or tensor.dtype is not dtype
            or not tensor.is_cpu
            or tensor.layout is not torch.strided
            or tensor.shape != shape
            or not tensor.is_contiguous()
            or tensor.is_neg()
            or (not tensor.data_ptr() and tensor.numel())
        ):
            raise ValueError(f"a kernel takes a contiguous {dtype} tensor of shape {shape} here, not {_about(tensor)}")


def expect_sizes(**sizes: int) -> None:
    """Raise if a size is too large for the counters of the kernels."""
    for name, size in sizes.items():
        if not isinstance(size, int) or not 1 <= size <= LARGEST:
            raise ValueError(f"{name} is {size}, but the kernels take 1 to {LARGEST}")


def _about(tensor: Any) -> str:
    if not isinstance(tensor, Tensor):
        return f"a {type(tensor).__name__}"
    return f"a {type(tensor).__name__} of shape {tuple(tensor.shape)}, {tensor.dtype} on {tensor.device}"


def _as_c(value: Any) -> Any:
    """Convert tensors to pointers, and sequences of tensors to arrays of pointers."""
    if isinstance(value, Tensor):
        return value.data_ptr()
    if isinstance(value, ctypes.Structure):
        return ctypes.byref(value)
    if isinstance(value, tuple | list):
        return ctypes.byref(_pointers(len(value))(*[one.data_ptr() if one is not None else 0 for one in value]))
    return value


@cache
def _pointers(count: int) -> type[ctypes.Array[ctypes.c_void_p]]:
    return ctypes.c_void_p * count
