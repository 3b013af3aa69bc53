"""The settings of training."""

from dataclasses import dataclass

import torch

from gredkit import ranges
from gredkit.errors import UserError
from gredkit.training.device import PRECISIONS, resolve

FOREVER = 10**9  # epochs, or graphs in a batch
OPTIMIZERS = ("adamw", "adam")
SCHEDULES = ("cosine", "plateau", "constant")


@dataclass(frozen=True)
class Recipe:
    """How a model is trained; an invalid value raises a `UserError`."""

    epochs: int = 20  # passes over the training graphs
    batch_size: int = 32  # graphs per step
    learning_rate: float = 1e-3  # the largest learning rate, reached after the warm-up
    optimizer: str = "adamw"  # or 'adam', whose weight decay is part of the gradient
    weight_decay: float = 0.1  # biases, norms, embeddings and recurrent parameters have none
    recurrent_factor: float = 1.0  # multiplies the learning rate of recurrent parameters
    schedule: str = "cosine"  # after the warm-up: 'cosine' down to 0, 'plateau' or 'constant'
    warmup: float = 0.05  # the share of all steps during which the learning rate rises
    plateau_factor: float = 0.5  # of 'plateau': multiplies the learning rate …
    plateau_patience: int = 10  # … after more than so many epochs without a smaller validation loss
    least_rate: float = 0.0  # of 'plateau': training ends when the learning rate falls below it
    clip_norm: float | None = None  # the largest allowed norm of all gradients together
    patience: int | None = None  # stop after this many epochs without a better validation score
    train_score: bool = False  # also score the tested model on the training graphs, once, at the end
    device: str = "auto"  # the GPU if there is one, or any device name that torch knows
    precision: str = "float32"  # of the forward pass; the parameters keep their precision
    compile: bool = False  # use torch.compile
    checkpoint_seconds: float = 10.0  # the minimum time between two checkpoints; 0 writes one every epoch

    def __post_init__(self) -> None:
        ranges.whole("epochs", self.epochs, 1, FOREVER)
        ranges.whole("batch_size", self.batch_size, 1, FOREVER)
        ranges.positive("learning_rate", self.learning_rate)
        ranges.one_of("optimizer", self.optimizer, OPTIMIZERS)
        ranges.one_of("schedule", self.schedule, SCHEDULES)
        for name in ("weight_decay", "recurrent_factor", "least_rate", "checkpoint_seconds"):
            ranges.not_negative(name, getattr(self, name))
        for name in ("warmup", "plateau_factor"):
            ranges.share(name, getattr(self, name))
        ranges.whole("plateau_patience", self.plateau_patience, 0, FOREVER)
        if self.clip_norm is not None:
            ranges.positive("clip_norm", self.clip_norm)
        if self.patience is not None:
            ranges.whole("patience", self.patience, 1, FOREVER)
        ranges.one_of("precision", self.precision, PRECISIONS)
        for name in ("compile", "train_score"):
            if not isinstance(value := getattr(self, name), bool):
                raise UserError(f"{name} is True or False, not {ranges.said(value)}")

    def resolve_device(self) -> torch.device:
        """The device to train on; raises a `UserError` if this machine does not have it."""
        return resolve(self.device)
