"""How a model is trained."""

from dataclasses import dataclass

import torch

from gredkit import ranges
from gredkit.errors import UserError
from gredkit.training.device import PRECISIONS, resolve

FOREVER = 10**9  # epochs, or graphs in a batch


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
    train_score: bool = False  # whether the tested model is also scored on the training graphs, once, at the end
    device: str = "auto"  # the GPU if there is one, or any name that torch knows
    precision: str = "float32"  # of the forward pass; the parameters stay as they are
    compile: bool = False
    checkpoint_seconds: float = 10.0  # the least time between two checkpoints; 0 writes one every epoch

    def __post_init__(self) -> None:
        ranges.whole("epochs", self.epochs, 1, FOREVER)
        ranges.whole("batch_size", self.batch_size, 1, FOREVER)
        ranges.positive("learning_rate", self.learning_rate)
        for name in ("weight_decay", "recurrent_factor", "checkpoint_seconds"):
            ranges.not_negative(name, getattr(self, name))
        ranges.share("warmup", self.warmup)
        if self.clip_norm is not None:
            ranges.positive("clip_norm", self.clip_norm)
        if self.patience is not None:
            ranges.whole("patience", self.patience, 1, FOREVER)
        ranges.one_of("precision", self.precision, PRECISIONS)
        for name in ("compile", "train_score"):
            if not isinstance(value := getattr(self, name), bool):
                raise UserError(f"{name} is True or False, not {ranges.said(value)}")

    def resolve_device(self) -> torch.device:
        """The device to train on; one that is not there is a `UserError`."""
        return resolve(self.device)
