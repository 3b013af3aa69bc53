"""The state of training in memory: what a checkpoint stores."""

import logging
import math
from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

import torch
from torch import Tensor, nn

from gredkit.data.objectives import Metric
from gredkit.data.task import SPLITS, Task
from gredkit.training.checkpoint import Checkpoint, Progress
from gredkit.training.optimiser import make_optimiser
from gredkit.training.recipe import Recipe
from gredkit.training.schedule import reduced

log = logging.getLogger(__name__)
FREE = (
    "device",
    "compile",
    "checkpoint_seconds",
    "train_score",
)  # settings that may change between interruption and continuation


def identity(task: Task, recipe: Recipe, seed: int) -> dict[str, Any]:
    """Everything that the result of training depends on, besides the model and the graphs."""
    settings = {name: value for name, value in asdict(recipe).items() if name not in FREE}
    return {"task": task.name, "seed": seed, **{f"{s} graphs": len(task.splits[s]) for s in SPLITS}, **settings}


class State:
    """The model, its optimiser, the weights of its best epoch, and its progress."""

    def __init__(self, model: nn.Module, recipe: Recipe, device: torch.device, run: Mapping[str, Any]):
        self.model, self.recipe = model, recipe
        self.optimiser = make_optimiser(model, recipe)
        # In float16 small gradients vanish unless the loss is scaled up.
        self.scaler = torch.amp.GradScaler(device.type, enabled=recipe.precision == "float16")
        self.best: Mapping[str, Tensor] = {}
        self.progress = Progress(run)

    @property
    def is_over(self) -> bool:
        """Whether all epochs are done, patience has run out, or the learning rate has become too small."""
        epoch, recipe = self.progress.epoch, self.recipe
        waited = epoch - self.progress.last_improvement
        rate = recipe.learning_rate * reduced(recipe, self.progress.plateau.reductions)
        return (
            epoch + 1 >= recipe.epochs
            or (recipe.patience is not None and waited >= recipe.patience)
            or (recipe.schedule == "plateau" and rate < recipe.least_rate)
        )

    def finish_epoch(
        self, metric: Metric, train_loss: float, loss: float, validation: float, steps: int, seconds: float
    ) -> bool:
        """Record an epoch and keep its weights if it is the best so far; returns whether it is.

        loss, validation: of the validation graphs, the loss and the task's metric
        A score of NaN is worse than any number; while all scores are NaN, the last epoch counts as the best.
        """
        old = self.progress
        improves = not math.isnan(validation) and (
            math.isnan(old.best_validation) or metric.is_better(validation, than=old.best_validation)
        )
        self.progress = new = replace(
            old,
            epoch=old.epoch + 1,
            steps=old.steps + steps,
            train_loss=train_loss,
            validation=validation,
            seconds=old.seconds + seconds,
            plateau=old.plateau.after(loss, self.recipe.plateau_patience),
        )
        if improves:
            self.progress = new = replace(new, last_improvement=new.epoch)
        if is_best := improves or (math.isnan(validation) and math.isnan(old.best_validation)):
            self.progress = replace(new, best_epoch=new.epoch, best_validation=validation)
            self.best = {name: tensor.detach().clone() for name, tensor in self.model.state_dict().items()}
        return is_best

    def checkpoint(self) -> Checkpoint:
        """The whole state, ready to be saved."""
        names = self._names()
        kept = {names[parameter]: state for parameter, state in self.optimiser.state.items()}
        progress = replace(self.progress, scaler=self.scaler.state_dict())
        return Checkpoint(self.model.state_dict(), self.best, kept, progress)

    def resume(self, checkpoint: Checkpoint) -> None:
        """Continue from a checkpoint; one of another model or run is ignored with a warning."""
        if difference := self._difference(checkpoint):
            log.warning("the checkpoint belongs to another run, so training starts from the beginning: %s", difference)
            return
        self.model.load_state_dict(checkpoint.model)
        self.best, self.progress = checkpoint.best, checkpoint.progress
        names = self._names()
        ordered = [names[parameter] for group in self.optimiser.param_groups for parameter in group["params"]]
        states = {i: checkpoint.optimiser[name] for i, name in enumerate(ordered) if name in checkpoint.optimiser}
        self.optimiser.load_state_dict({**self.optimiser.state_dict(), "state": states})
        if checkpoint.progress.scaler:
            self.scaler.load_state_dict(dict(checkpoint.progress.scaler))

    def _names(self) -> dict[Tensor, str]:
        return {parameter: name for name, parameter in self.model.named_parameters()}

    def _difference(self, checkpoint: Checkpoint) -> str | None:
        ours, theirs = _shapes(self.model.state_dict()), _shapes(checkpoint.model)
        for kind, new, old in (("weight", ours, theirs), ("setting", self.progress.run, checkpoint.progress.run)):
            for name in [*new, *old]:
                if new.get(name) != old.get(name):
                    return f"{kind} {name!r} was {old.get(name)} and is now {new.get(name)}"
        return None


def _shapes(weights: Mapping[str, Tensor]) -> dict[str, str]:
    return {name: f"{tensor.dtype} {tuple(tensor.shape)}" for name, tensor in weights.items()}
