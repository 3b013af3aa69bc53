"""The device and precision in which a model runs, and the memory that it uses."""

import ctypes
import gc
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress

import psutil
import torch

from gredkit.errors import UserError

M_TRIM_THRESHOLD, M_TOP_PAD, M_MMAP_MAX = -1, -2, -4  # glibc's numbers
PRECISIONS = ("float32", "bfloat16", "float16")


def resolve(name: str) -> torch.device:
    """The torch device with this name; `auto` is the GPU if there is one, else the CPU."""
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        device = torch.device(name)
        torch.zeros(1, device=device).item()  # the only test that works for every kind of device
    except (RuntimeError, AssertionError, TypeError) as error:
        raise UserError(f"there is no device {name!r} on this machine: use 'auto' or 'cpu'") from error
    return device


def autocast(device: torch.device, precision: str) -> AbstractContextManager[object]:
    """The context for a forward pass and its loss, in which matrix products have the given precision."""
    return nullcontext() if precision == "float32" else torch.autocast(device.type, getattr(torch, precision))


def keep_pages() -> None:
    """Let the C library keep freed memory.

    Otherwise large buffers are returned to the system after each step, and every page of them costs a page
    fault when it is allocated again.
    """
    with suppress(OSError, AttributeError, TypeError):  # not every C library has this function
        for option, value in ((M_MMAP_MAX, 0), (M_TRIM_THRESHOLD, -1), (M_TOP_PAD, 64 << 20)):
            ctypes.CDLL(None).mallopt(option, value)


@contextmanager
def past_at_rest() -> Iterator[None]:
    """Exclude all objects that exist now from garbage collection.

    After large imports the collector would spend a tenth of each small training step on them.
    """
    was_at_rest = gc.get_freeze_count() > 0  # frozen by somebody else, for example the fork server
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        if not was_at_rest:
            gc.unfreeze()


def reset_peak(device: torch.device) -> None:
    """Reset the peak memory of a GPU; the peak of a process on the CPU cannot be reset."""
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats(device)


def peak_mb(device: torch.device) -> float:
    """The peak memory in MB: of the GPU, or on a CPU of this process."""
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device) / 1e6
    try:
        import resource
    except ImportError:  # Windows
        return psutil.Process().memory_info().peak_wset / 1e6
    unit = 1 if sys.platform == "darwin" else 1024  # the unit of getrusage
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6
