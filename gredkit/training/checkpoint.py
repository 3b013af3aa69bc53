"""A training on disk: one safetensors file that is whole or not there."""

import json
import logging
import math
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import safetensors.torch
import torch
import xxhash
from safetensors import SafetensorError
from torch import Tensor

from gredkit.system.untrusted import Unreadable, read_bytes
from gredkit.system.writing import writing

log = logging.getLogger(__name__)
PARTS = ("model", "best", "optimiser")  # what the names of its tensors begin with


class Damaged(Exception):
    """What lies in a file is not what was written there."""


@dataclass(frozen=True)
class Progress:
    """How far a training is: numbers alone, as JSON keeps them."""

    run: Mapping[str, Any]  # what the result depends on: a training of something else does not go on from here
    epoch: int = -1  # the last one that is finished
    steps: int = 0
    train_loss: float = math.nan  # of the last epoch
    validation: float = math.nan
    best_epoch: int = -1
    best_validation: float = math.nan
    last_improvement: int = -1
    seconds: float = 0.0
    scaler: Mapping[str, Any] = field(default_factory=dict)  # of the gradients, in half precision


@dataclass(frozen=True)
class Checkpoint:
    """All that is needed to go on after an epoch."""

    model: Mapping[str, Tensor]
    best: Mapping[str, Tensor]  # the model after its best epoch
    optimiser: Mapping[str, Mapping[str, Tensor]]  # what AdamW keeps, by the name of the parameter
    progress: Progress


def save(path: Path, checkpoint: Checkpoint) -> None:
    """Write a checkpoint that takes the place of the one before it in one step; where it cannot, that one stays."""
    content = _to_bytes(checkpoint)
    unfinished = path.with_name(f"{path.name}.unfinished")
    try:
        with writing(path.parent):
            path.parent.mkdir(parents=True, exist_ok=True)
            with unfinished.open("wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            os.replace(unfinished, path)
    finally:
        with suppress(OSError):  # after success it is gone already
            unfinished.unlink()


def load(path: Path) -> Checkpoint | None:
    """The checkpoint in a file; a damaged one is reported and is none."""
    try:
        return _from_bytes(read_bytes(path))
    except FileNotFoundError:
        return None
    except (Unreadable, Damaged) as reason:
        log.warning("the checkpoint %s is not used, and training begins again: %s", path, reason)
        return None


def _to_bytes(checkpoint: Checkpoint) -> bytes:
    tensors = {f"model/{name}": tensor for name, tensor in checkpoint.model.items()}
    tensors |= {f"best/{name}": tensor for name, tensor in checkpoint.best.items()}
    for name, state in checkpoint.optimiser.items():
        tensors |= {f"optimiser/{key}/{name}": tensor for key, tensor in state.items()}
    # A copy of each: safetensors refuses tensors that share memory, as tied weights do.
    tensors = {name: tensor.detach().to("cpu", copy=True).contiguous() for name, tensor in tensors.items()}
    progress = json.dumps(asdict(checkpoint.progress))
    return safetensors.torch.save(tensors, {"progress": progress, "checksum": _checksum(tensors, progress)})


def _from_bytes(content: bytes) -> Checkpoint:
    try:
        tensors = safetensors.torch.load(content)
        metadata = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])["__metadata__"]
        if metadata["checksum"] != _checksum(tensors, metadata["progress"]):
            raise Damaged("it is not what was written")
        progress = Progress(**json.loads(metadata["progress"]))
        if any(key.partition("/")[0] not in PARTS for key in tensors):
            raise Damaged("it holds something else")
    except (SafetensorError, KeyError, TypeError, ValueError, RecursionError) as error:
        raise Damaged(f"it is damaged, or of another version ({' '.join(str(error).split())})") from error
    parts: dict[str, dict[str, Tensor]] = {"model": {}, "best": {}}
    optimiser: dict[str, dict[str, Tensor]] = {}
    for key, tensor in tensors.items():
        part, _, name = key.partition("/")
        if part == "optimiser":
            kind, _, name = name.partition("/")
            optimiser.setdefault(name, {})[kind] = tensor
        else:
            parts[part][name] = tensor
    return Checkpoint(parts["model"], parts["best"], optimiser, progress)


def _checksum(tensors: Mapping[str, Tensor], progress: str) -> str:
    digest = xxhash.xxh3_128(progress.encode())
    for name, tensor in sorted(tensors.items()):
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
        digest.update(tensor.flatten().view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()
