"""Peak memory, measured in a separate process."""

import multiprocessing
import pickle
import resource
import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import psutil

T = TypeVar("T")


def apart(function: Callable[..., T], *arguments: Any) -> T:
    """Call a function in a new process and return its result."""
    methods = multiprocessing.get_all_start_methods()
    context = multiprocessing.get_context("forkserver" if "forkserver" in methods else "spawn")
    if "forkserver" in methods:
        context.set_forkserver_preload(["gredkit.bench.settings"])  # imported once for all processes
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        return pool.submit(_call, pickle.dumps((function, arguments))).result()  # tensors are copied, not shared


def _call(pickled: bytes) -> Any:
    function, arguments = pickle.loads(pickled)
    return function(*arguments)


def in_use() -> int:
    """The bytes of memory that this process uses now."""
    return psutil.Process().memory_info().rss


def peak() -> int:
    """The peak of bytes that this process has used since its start, or since `forget_peak`."""
    with suppress(OSError):  # Linux, where getrusage also counts the memory of the parent
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return 1024 * int(line.split()[1])
    unit = 1 if sys.platform == "darwin" else 1024  # the unit of getrusage
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def forget_peak() -> None:
    """Reset the peak, if the system supports it."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")
