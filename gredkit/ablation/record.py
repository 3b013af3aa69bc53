"""What is recorded about a trial besides its scores: configuration, environment, eigenvalues, hop weights."""

import json
import os
import platform
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

import psutil
import torch
from torch import Tensor, nn

from gredkit.nn.composition import PARTS
from gredkit.nn.kernels.build import why_none
from gredkit.nn.kernels.call import CALLED

MOST_HOPS = 256  # the largest number of hops whose weights are recorded
UNKNOWN_HOPS = 64  # the number of hops if neither K nor a diameter is known
NAMES = {
    "dataset": "trial.dataset",
    "K": "trial.K",
    "loss": "trial.loss",
    "metric": "trial.metric",
    "model": "variant.model",
}


def gin_text(trial_id: str, study: str, settings: Mapping[str, Any]) -> str:
    """All settings of a trial as a gin file; running this file repeats the trial."""
    lines = [f"# Trial {trial_id} of the study {study!r}, with all its settings.", f"study.name = {study!r}"]
    for name, value in settings.items():
        if name == "seed":
            lines.append(f"study.seeds = ({value},)")
        else:
            lines.append(f"{NAMES.get(name, f'variant.{name}' if name in PARTS else name)} = {value!r}")
    return "\n".join([*lines, "study.datasets = None", "study.budget = None", ""])


@cache
def processor_name() -> str | None:
    """What the processor calls itself; only Linux says it in a file."""
    try:
        told = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    return next((line.partition(":")[2].strip() for line in told.splitlines() if line.startswith("model name")), None)


@cache
def packages() -> Mapping[str, str]:
    """The versions of all installed packages."""
    found = {d.metadata["Name"]: d.version for d in metadata.distributions() if d.metadata["Name"]}
    return dict(sorted(found.items(), key=lambda item: item[0].lower()))


def kernels(device: str, precision: str) -> str:
    """Whether compiled kernels ran in this process: 'yes', or 'no: ' and the reason."""
    if any(name.endswith("_forward") for name in CALLED):
        return "yes"
    if device != "cpu" or precision != "float32":
        return f"no: the trial ran on {device} in {precision}"
    return f"no: {why_none() or 'they support no part of this model'}"


def environment(device: str, **more: str) -> dict[str, Any]:
    """The machine and the installed packages."""
    return {
        **more,
        "python": sys.version.split()[0],
        "platform": platform.platform(),
        "processor": platform.processor() or platform.machine(),
        "processor_name": processor_name(),
        "cores": os.cpu_count() or 1,
        "memory_gb": round(psutil.virtual_memory().total / 1e9),
        "device": torch.cuda.get_device_name(device) if device.startswith("cuda") else device,
        "threads": torch.get_num_threads(),
        "packages": packages(),
    }


@torch.no_grad()
def eigenvalues(model: nn.Module) -> list[dict[str, list[float]]]:
    """Real and imaginary parts of the eigenvalues, for every layer whose encoder has them."""
    found = (values.to(torch.complex64) for values in _told(model, "eigenvalues"))
    return [{"real": values.real.tolist(), "imag": values.imag.tolist()} for values in found]


@torch.no_grad()
def hop_weights(model: nn.Module, width: int) -> list[list[float]]:
    """The weights of the first `width` hops, for every layer whose encoder has them."""
    return [weights.tolist() for weights in _told(model, "hop_weights", width)]


def recorded_hops(K: int | str | None, diameters: tuple[float, float] | None) -> int:
    """The number of hops whose weights are recorded: those that are read, including hop 0."""
    farthest = K if isinstance(K, int) else int(diameters[1]) if diameters else UNKNOWN_HOPS
    return min(farthest, MOST_HOPS) + 1


def _told(module: nn.Module, what: str, *arguments: Any) -> Iterator[Tensor]:
    """The results of a method in each module that has it, without None.

    A module that answers speaks for the modules inside it, so that an encoder may wrap another one.
    """
    method = getattr(module, what, None)
    values = method(*arguments) if callable(method) else None
    if values is not None:
        yield values.flatten()
        return
    for child in module.children():
        yield from _told(child, what, *arguments)


def write_moments(path: Path, **moments: list[Any]) -> None:
    """Write one list per moment ('start', 'end') with one entry per layer; nothing if all lists are empty."""
    if any(moments.values()):
        path.write_text(json.dumps(moments))
