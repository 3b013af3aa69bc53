"""What this process may use of the machine: cores, GPUs and memory."""

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

CGROUPS = Path("/sys/fs/cgroup")


@dataclass(frozen=True)
class Resources:
    """Cores and GPUs to compute with, and bytes of memory that are free."""

    cores: int
    gpus: int
    memory: int


def resources() -> Resources:
    """Of this process: an allocation, a container or `OMP_NUM_THREADS` may leave it less than the machine has."""
    import joblib  # which takes a moment, as PyTorch does
    import torch

    cores = min(joblib.cpu_count(only_physical_cores=True), torch.get_num_threads())
    return Resources(cores, torch.cuda.device_count() if torch.cuda.is_available() else 0, free_memory())


def free_memory() -> int:
    """Bytes that are free on this machine, or fewer if a container or a batch job has a limit of its own."""
    free = psutil.virtual_memory().available
    with suppress(OSError, ValueError, IndexError):  # another system, or an older kernel
        own = Path("/proc/self/cgroup").read_text().splitlines()[-1].partition("::")[2].lstrip("/")
        for group in (CGROUPS / own, *(CGROUPS / own).parents):
            if group.is_relative_to(CGROUPS):
                free = min(free, room_of(group, free))
    return free


def room_of(group: Path, otherwise: int) -> int:
    """Bytes below the limit of a control group, files that are only cached not counted."""
    try:
        limit = int((group / "memory.max").read_text())
        used = dict(line.split() for line in (group / "memory.stat").read_text().splitlines())
        return max(limit - int(used["anon"]), 0)
    except (OSError, ValueError, KeyError):  # it has no limit
        return otherwise
