"""Where a model runs, in which precision, and how much memory that takes."""

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
    """The device of a name that torch knows; `auto` is the GPU if there is one, else the CPU."""
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        device = torch.device(name)
        torch.zeros(1, device=device).item()  # the only question that all kinds of devices answer
    except (RuntimeError, AssertionError, TypeError) as error:
        raise UserError(f"there is no device {name!r} on this machine: use 'auto' or 'cpu'") from error
    return device


def autocast(device: torch.device, precision: str) -> AbstractContextManager[object]:
    """What a forward pass and its loss run in: matrix products in the given precision."""
    return nullcontext() if precision == "float32" else torch.autocast(device.type, getattr(torch, precision))


def keep_pages() -> None:
    """Let the C library keep what is freed: large buffers that come anew each step would cost a page fault a page."""
    with suppress(OSError, AttributeError, TypeError):  # another system's library may not know of this
        for option, value in ((M_MMAP_MAX, 0), (M_TRIM_THRESHOLD, -1), (M_TOP_PAD, 64 << 20)):
            ctypes.CDLL(None).mallopt(option, value)


@contextmanager
def past_at_rest() -> Iterator[None]:
    """What is there now is not looked through for garbage, which costs a tenth of small steps after large imports."""
    was_at_rest = gc.get_freeze_count() > 0  # somebody else, as the server of trials, will wake it or never
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        if not was_at_rest:
            gc.unfreeze()


def reset_peak(device: torch.device) -> None:
    """Forget what was allocated on a GPU before; the peak of a process cannot be forgotten."""
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats(device)


def peak_mb(device: torch.device) -> float:
    """The most memory that was in use: of the GPU, or else of this process."""
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device) / 1e6
    try:
        import resource
    except ImportError:  # Windows
        return psutil.Process().memory_info().peak_wset / 1e6
    unit = 1 if sys.platform == "darwin" else 1024  # what getrusage counts in
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6
