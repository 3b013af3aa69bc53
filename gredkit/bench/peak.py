"""The peak of memory, measured in a process of its own."""

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
    """What a function returns, called in a process that has done nothing else."""
    methods = multiprocessing.get_all_start_methods()
    context = multiprocessing.get_context("forkserver" if "forkserver" in methods else "spawn")
    if "forkserver" in methods:
        context.set_forkserver_preload(["gredkit.bench.settings"])  # imported once, for all
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        return pool.submit(_call, pickle.dumps((function, arguments))).result()  # tensors by value, not shared


def _call(pickled: bytes) -> Any:
    function, arguments = pickle.loads(pickled)
    return function(*arguments)


def in_use() -> int:
    """Bytes that this process holds now."""
    return psutil.Process().memory_info().rss


def peak() -> int:
    """The most bytes that this process has held since its start, or since `forget_peak`."""
    with suppress(OSError):  # Linux. Its getrusage counts what the parent held, too
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return 1024 * int(line.split()[1])
    unit = 1 if sys.platform == "darwin" else 1024  # what getrusage counts in
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def forget_peak() -> None:
    """Let the peak begin anew, where the system can do that."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")
