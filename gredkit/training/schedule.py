"""The learning rate as a function of the step, and of how the validation loss went."""

import math
from dataclasses import dataclass, replace

from gredkit.training.recipe import Recipe

BETTER = 1e-4  # a loss is smaller if it is so by more than this share


@dataclass(frozen=True)
class Plateau:
    """How often the learning rate was reduced, and what decides about the next time."""

    reductions: int = 0
    best: float = math.inf  # the smallest validation loss
    waited: int = 0  # epochs since it, or since the last reduction

    def after(self, loss: float, patience: int) -> "Plateau":
        """The state after one more epoch: a reduction follows more than `patience` epochs without a smaller loss.

        The rule is that of PyTorch's ReduceLROnPlateau. A loss of NaN is not smaller than any other.
        """
        if loss < self.best * (1 - BETTER):
            return replace(self, best=loss, waited=0)
        if self.waited >= patience:
            return replace(self, reductions=self.reductions + 1, waited=0)
        return replace(self, waited=self.waited + 1)


def factor(recipe: Recipe, step: int, total_steps: int, reductions: int = 0) -> float:
    """The factor of the learning rate at a step: linear warm-up, then the schedule. Steps count from 0.

    With w = round(warmup · total_steps):
    before step w: (step + 1) / (w + 1);
    from step w on: cosine (1 + cos(π (step - w) / (total_steps - w))) / 2, from 1 down to almost 0;
    plateau: plateau_factor ^ reductions; constant: 1.
    """
    rising = min(round(recipe.warmup * total_steps), total_steps)
    if step < rising:
        return (step + 1) / (rising + 1)
    if recipe.schedule == "plateau":
        return reduced(recipe, reductions)
    if recipe.schedule == "constant":
        return 1.0
    return 0.5 * (1 + math.cos(math.pi * (step - rising) / max(total_steps - rising, 1)))


def reduced(recipe: Recipe, reductions: int) -> float:
    """The factor of the learning rate after so many reductions."""
    return recipe.plateau_factor**reductions
