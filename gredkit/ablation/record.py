"""What is kept of a trial beside its numbers: configuration, environment, eigenvalues, hop weights."""

import json
import platform
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from gredkit.nn.composition import PARTS
from gredkit.nn.kernels.build import why_none
from gredkit.nn.kernels.call import CALLED

MOST_HOPS = 256  # whose weights are kept; a larger K is no reason to fill the memory
UNKNOWN_HOPS = 64  # whose weights are kept if neither K nor a diameter says how many are read
NAMES = {"dataset": "trial.dataset", "K": "trial.K", "model": "variant.model"}


def gin_text(trial_id: str, study: str, settings: Mapping[str, Any]) -> str:
    """Every setting of a trial as gin: running this file is running the trial again."""
    lines = [f"# Trial {trial_id} of the study {study!r}, with all its settings.", f"study.name = {study!r}"]
    for name, value in settings.items():
        if name == "seed":
            lines.append(f"study.seeds = ({value},)")
        else:
            lines.append(f"{NAMES.get(name, f'variant.{name}' if name in PARTS else name)} = {value!r}")
    return "\n".join([*lines, "study.datasets = None", "study.budget = None", ""])


@cache
def packages() -> Mapping[str, str]:
    """The versions of all that is installed."""
    found = {d.metadata["Name"]: d.version for d in metadata.distributions() if d.metadata["Name"]}
    return dict(sorted(found.items(), key=lambda item: item[0].lower()))


def kernels(device: str, precision: str) -> str:
    """Whether compiled kernels have computed something in this process: 'yes', or 'no: ' and why."""
    if any(name.endswith("_forward") for name in CALLED):
        return "yes"
    if device != "cpu" or precision != "float32":
        return f"no: the trial ran on {device} in {precision}"
    return f"no: {why_none() or 'no part of this model is one that they know'}"


def environment(device: str, **more: str) -> dict[str, Any]:
    """The machine, and what is installed."""
    return {
        **more,
        "python": sys.version.split()[0],
        "platform": platform.platform(),
        "processor": platform.processor() or platform.machine(),
        "device": torch.cuda.get_device_name(device) if device.startswith("cuda") else device,
        "threads": torch.get_num_threads(),
        "packages": packages(),
    }


@torch.no_grad()
def eigenvalues(model: nn.Module) -> list[dict[str, list[float]]]:
    """Of every layer whose encoder has them: real and imaginary parts."""
    found = (values.to(torch.complex64) for values in _told(model, "eigenvalues"))
    return [{"real": values.real.tolist(), "imag": values.imag.tolist()} for values in found]


@torch.no_grad()
def hop_weights(model: nn.Module, width: int) -> list[list[float]]:
    """Of every layer whose encoder has them: the weights of the first `width` hops."""
    return [weights.tolist() for weights in _told(model, "hop_weights", width)]


def recorded_hops(K: int | str | None, diameters: tuple[float, float] | None) -> int:
    """How many hops have their weights kept: those that are read, the node itself among them."""
    farthest = K if isinstance(K, int) else int(diameters[1]) if diameters else UNKNOWN_HOPS
    return min(farthest, MOST_HOPS) + 1


def _told(module: nn.Module, what: str, *arguments: Any) -> Iterator[Tensor]:
    """What the method of a name returns in each module that has one, unless it is None.

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
    """One list a moment ('start', 'end'), with an entry a layer; nothing if no layer has one."""
    if any(moments.values()):
        path.write_text(json.dumps(moments))
