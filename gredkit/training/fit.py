"""The training loop: train a model on a task, choose the best epoch by validation, test once."""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor, nn
from torch_geometric.data import Batch, Data
from torch_geometric.loader import DataLoader

from gredkit.data.task import SPLITS, Task
from gredkit.errors import UserError
from gredkit.training import checkpoint as checkpoints
from gredkit.training.device import autocast, keep_pages, past_at_rest, peak_mb, reset_peak
from gredkit.training.evaluation import Evaluation, NotFinite, at_least_single, batches, evaluate
from gredkit.training.optimiser import set_rate
from gredkit.training.recipe import Recipe
from gredkit.training.schedule import factor
from gredkit.training.seeds import mixed, seed_all
from gredkit.training.state import State, identity


@dataclass(frozen=True)
class EpochReport:
    """The measurements of one epoch; epochs count from 0."""

    epoch: int
    train_loss: float  # mean over its steps
    validation_loss: float
    validation: float  # the task's metric
    learning_rate: float  # at its last step
    seconds: float  # training and validation
    samples_per_second: float  # graphs per second, without validation
    peak_mb: float  # peak memory of the GPU, or on a CPU of the process
    is_best: bool


@dataclass(frozen=True)
class Result:
    """The scores of the best validation epoch, and where training ended."""

    epoch: int
    validation: float
    test: float
    test_loss: float
    final_epoch: int
    final_validation: float
    final_train_loss: float
    seconds: float  # all epochs, including those before an interruption
    train: float | None = None  # score of the tested model on the training graphs, if `train_score` is set


class Interrupted(Exception):
    """Training was asked to stop after an epoch; the checkpoint includes that epoch."""

    def __init__(self, epoch: int):
        super().__init__(epoch)
        self.epoch = epoch

    def __str__(self) -> str:
        return f"training was stopped after epoch {self.epoch}: run the same command again to continue"


class Diverged(Exception):
    """The loss or an output became NaN or infinite."""

    def __init__(self, epoch: int, learning_rate: float, what: str):
        super().__init__(epoch, learning_rate, what)
        self.epoch, self.learning_rate, self.what = epoch, learning_rate, what

    def __str__(self) -> str:
        return (
            f"training diverged in epoch {self.epoch}: {self.what} became NaN or infinite; "
            f"use a learning rate below {self.learning_rate:g}"
        )


@past_at_rest()
def fit(
    model: nn.Module,
    task: Task,
    graphs: Sequence[Data],
    recipe: Recipe,
    seed: int,
    *,
    checkpoint: Path | None = None,
    on_epoch: Callable[[EpochReport], object] | None = None,
    should_stop: Callable[[], bool] | None = None,
) -> Result:
    """Minimise the task's loss, then test the epoch with the best validation score; the model keeps its weights.

    Every epoch first seeds all generators from (seed, epoch), so no random state is carried from one epoch to
    the next. On a CPU, an interrupted and resumed training therefore gives bit for bit the same numbers as an
    uninterrupted one. Epochs after the last checkpoint are run, and reported to `on_epoch`, again.

    graphs: all graphs of the task, prepared (with hop index and positional encoding)
    checkpoint: file to write checkpoints to; if it exists, training continues from it
    on_epoch: called with an `EpochReport` after each epoch
    should_stop: asked after each epoch; if it returns True, `Interrupted` is raised
    """
    train, validation, test = _parts(task, graphs)
    device = recipe.resolve_device()
    keep_pages()
    reset_peak(device)
    if (calibrate := getattr(model, "calibrate", None)) is not None:
        calibrate(train)  # a model may measure the training graphs, once; what it finds is part of its state
    state = State(model.to(device), recipe, device, identity(task, recipe, seed))
    if checkpoint is not None and (found := checkpoints.load(checkpoint)) is not None:
        state.resume(found)
    network: nn.Module = torch.compile(model, dynamic=True) if recipe.compile else model  # type: ignore[assignment]

    def examine(part: Sequence[Data], epoch: int, name: str) -> Evaluation:
        try:
            return evaluate(network, part, task, recipe.batch_size, device, recipe.precision)
        except NotFinite as error:
            raise Diverged(epoch, recipe.learning_rate, f"an output in {name}") from error

    saved = time.monotonic()
    while not state.is_over:
        epoch, begin = state.progress.epoch + 1, time.perf_counter()
        seed_all(mixed(seed, epoch))
        loader = _shuffled(train, recipe.batch_size, mixed(seed, epoch, "order"))
        train_loss, rate = _train(network, state, loader, task, device)
        trained = time.perf_counter()
        if not math.isfinite(train_loss):
            raise Diverged(epoch, recipe.learning_rate, "the training loss")
        loss, score = examine(validation, epoch, "validation")
        seconds = time.perf_counter() - begin
        is_best = state.finish_epoch(task.objective.metric, train_loss, loss, score, len(loader), seconds)
        if on_epoch is not None:
            speed = len(loader) * min(recipe.batch_size, len(train)) / (trained - begin)
            on_epoch(EpochReport(epoch, train_loss, loss, score, rate, seconds, speed, peak_mb(device), is_best))
        stopped = should_stop is not None and should_stop()
        due = time.monotonic() - saved >= recipe.checkpoint_seconds
        if checkpoint is not None and (due or stopped or state.is_over):
            checkpoints.save(checkpoint, state.checkpoint())
            saved = time.monotonic()
        if stopped:
            raise Interrupted(epoch)

    progress = state.progress
    model.load_state_dict(state.best)
    seed_all(mixed(seed, "test"))
    tested = examine(test, progress.best_epoch, "test")
    fitted = examine(train, progress.best_epoch, "training").score if recipe.train_score else None
    return Result(
        epoch=progress.best_epoch,
        validation=progress.best_validation,
        test=tested.score,
        test_loss=tested.loss,
        final_epoch=progress.epoch,
        final_validation=progress.validation,
        final_train_loss=progress.train_loss,
        seconds=progress.seconds,
        train=fitted,
    )


def _train(
    network: nn.Module, state: State, loader: DataLoader, task: Task, device: torch.device
) -> tuple[float, float]:
    """Run one epoch; returns its mean loss and its last learning rate. It waits for the device only once."""
    recipe, reductions = state.recipe, state.progress.plateau.reductions
    rate, total = 0.0, torch.zeros((), device=device)
    network.train()
    for step, batch in enumerate(batches(loader, device, network), state.progress.steps):
        rate = recipe.learning_rate * factor(recipe, step, recipe.epochs * len(loader), reductions)
        total += train_step(network, state, batch, task, rate)
    return (total / len(loader)).item(), rate


def train_step(network: nn.Module, state: State, batch: Batch, task: Task, rate: float) -> Tensor:
    """One optimiser step with the given learning rate; returns the loss before the step, on the device."""
    recipe, optimiser, scaler = state.recipe, state.optimiser, state.scaler
    set_rate(optimiser, rate)
    optimiser.zero_grad()
    with autocast(batch.y.device, recipe.precision):
        loss = task.objective.loss(at_least_single(network(batch)), batch.y)
    scaler.scale(loss).backward()
    if recipe.clip_norm is not None:
        scaler.unscale_(optimiser)
        nn.utils.clip_grad_norm_(network.parameters(), recipe.clip_norm)
    scaler.step(optimiser)
    scaler.update()
    return loss.detach()


def _shuffled(graphs: Sequence[Data], batch_size: int, seed: int) -> DataLoader:
    return DataLoader(
        graphs,
        batch_size,
        shuffle=True,
        drop_last=len(graphs) > batch_size,  # as in the published code
        generator=torch.Generator().manual_seed(seed),
    )


def _parts(task: Task, graphs: Sequence[Data]) -> list[list[Data]]:
    """The prepared graphs of the training, validation and test split."""
    if len(graphs) != len(task.graphs):
        raise UserError(f"{task.name} has {len(task.graphs)} graphs, but {len(graphs)} were prepared: prepare them all")
    for split in SPLITS:
        if not task.splits.get(split):
            raise UserError(f"{task.name} has no graphs in its {split} split: give it at least one")
    return [[graphs[i] for i in task.splits[split]] for split in SPLITS]
