"""Checkpoints: the state of a training run in one safetensors file, which is either complete or absent."""

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

from gredkit.system.sealed import Damaged
from gredkit.system.untrusted import Unreadable, read_bytes
from gredkit.system.writing import writing
from gredkit.training.schedule import Plateau

log = logging.getLogger(__name__)
PARTS = ("model", "best", "optimiser")  # the prefixes of the tensors' names


@dataclass(frozen=True)
class Progress:
    """How far training has come, in values that JSON can store."""

    run: Mapping[str, Any]  # what the result depends on: only the same run may continue from here
    epoch: int = -1  # the last finished epoch
    steps: int = 0
    train_loss: float = math.nan  # of the last epoch
    validation: float = math.nan
    best_epoch: int = -1
    best_validation: float = math.nan
    last_improvement: int = -1
    seconds: float = 0.0
    plateau: Plateau = field(default_factory=Plateau)  # what the schedule of that name has seen
    scaler: Mapping[str, Any] = field(default_factory=dict)  # state of the gradient scaler (float16 only)


@dataclass(frozen=True)
class Checkpoint:
    """Everything needed to continue training after an epoch."""

    model: Mapping[str, Tensor]
    best: Mapping[str, Tensor]  # the weights after the best epoch
    optimiser: Mapping[str, Mapping[str, Tensor]]  # its state, by the name of the parameter
    progress: Progress


def save(path: Path, checkpoint: Checkpoint) -> None:
    """Write a checkpoint; it replaces the previous one in one step, or leaves it in place if writing fails."""
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
        with suppress(OSError):  # after success it no longer exists
            unfinished.unlink()


def load(path: Path) -> Checkpoint | None:
    """The checkpoint in a file; None if there is none, or (with a warning) if it is damaged."""
    try:
        return _from_bytes(read_bytes(path))
    except FileNotFoundError:
        return None
    except (Unreadable, Damaged) as reason:
        log.warning("the checkpoint %s is not used, and training starts from the beginning: %s", path, reason)
        return None


def _to_bytes(checkpoint: Checkpoint) -> bytes:
    tensors = {f"model/{name}": tensor for name, tensor in checkpoint.model.items()}
    tensors |= {f"best/{name}": tensor for name, tensor in checkpoint.best.items()}
    for name, state in checkpoint.optimiser.items():
        tensors |= {f"optimiser/{key}/{name}": tensor for key, tensor in state.items()}
    # Copy each tensor: safetensors refuses tensors that share memory, as tied weights do.
    tensors = {name: tensor.detach().to("cpu", copy=True).contiguous() for name, tensor in tensors.items()}
    progress = json.dumps(asdict(checkpoint.progress))
    return safetensors.torch.save(tensors, {"progress": progress, "checksum": _checksum(tensors, progress)})


def _from_bytes(content: bytes) -> Checkpoint:
    try:
        tensors = safetensors.torch.load(content)
        metadata = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])["__metadata__"]
        if metadata["checksum"] != _checksum(tensors, metadata["progress"]):
            raise Damaged("its content has changed since it was written")
        stored = json.loads(metadata["progress"])
        progress = Progress(**{**stored, "plateau": Plateau(**stored.get("plateau", {}))})
        if any(key.partition("/")[0] not in PARTS for key in tensors):
            raise Damaged("it holds unknown tensors")
    except Damaged:
        raise
    except (SafetensorError, KeyError, TypeError, ValueError, RecursionError) as error:
        raise Damaged(f"it is damaged, or was written by another version ({' '.join(str(error).split())})") from error
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
