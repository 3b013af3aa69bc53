"""How a model is trained."""

import math
from dataclasses import dataclass
from typing import Any

import torch

from gredkit.errors import UserError
from gredkit.training.device import PRECISIONS, resolve


@dataclass(frozen=True)
class Recipe:
    """How a model is trained; a value that makes no sense is a `UserError`."""

    epochs: int = 20
    batch_size: int = 32
    learning_rate: float = 1e-3
    weight_decay: float = 0.1
    recurrent_factor: float = 1.0  # what the learning rate of recurrent parameters is multiplied by
    warmup: float = 0.05  # the share of all steps in which the learning rate rises
    clip_norm: float | None = None  # the largest norm of all gradients together
    patience: int | None = None  # stop after so many epochs without a better validation score
    device: str = "auto"  # the GPU if there is one, or any name that torch knows
    precision: str = "float32"  # of the forward pass; the parameters stay as they are
    compile: bool = False
    checkpoint_seconds: float = 10.0  # the least time between two checkpoints; 0 writes one every epoch

    def __post_init__(self) -> None:
        _require(_counts(self.epochs), f"training takes at least one epoch, not {self.epochs!r}")
        _require(_counts(self.batch_size), f"a batch holds at least one graph, not {self.batch_size!r}")
        _require(
            _number(self.learning_rate) and self.learning_rate > 0,
            f"the learning rate is a number above 0, not {self.learning_rate!r}",
        )
        for name in ("weight_decay", "recurrent_factor", "checkpoint_seconds"):
            value = getattr(self, name)
            _require(_number(value) and value >= 0, f"{name} is a number, 0 or more, not {value!r}")
        _require(
            _number(self.warmup) and 0 <= self.warmup <= 1,
            f"warmup is a share of all steps, from 0 to 1, not {self.warmup!r}",
        )
        _require(
            self.clip_norm is None or (_number(self.clip_norm) and self.clip_norm > 0),
            f"clip_norm is a number above 0, or None to clip nothing, not {self.clip_norm!r}",
        )
        _require(
            self.patience is None or _counts(self.patience),
            f"patience is at least one epoch, or None to train all of them, not {self.patience!r}",
        )
        _require(self.precision in PRECISIONS, f"precision is one of {', '.join(PRECISIONS)}, not {self.precision!r}")
        _require(isinstance(self.compile, bool), f"compile is True or False, not {self.compile!r}")

    def resolve_device(self) -> torch.device:
        """The device to train on; one that is not there is a `UserError`."""
        return resolve(self.device)


def _require(holds: bool, sentence: str) -> None:
    if not holds:
        raise UserError(sentence)


def _counts(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
