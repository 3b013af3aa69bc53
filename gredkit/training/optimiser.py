"""AdamW or Adam with a weight decay and a learning rate for each kind of parameter."""

from collections.abc import Iterator
from typing import Any

import torch
from torch import nn

from gredkit.training.recipe import Recipe

EMBEDDINGS = (nn.Embedding, nn.EmbeddingBag)


def make_optimiser(model: nn.Module, recipe: Recipe) -> torch.optim.Optimizer:
    """The optimiser for all parameters, fused into one kernel where PyTorch supports it."""
    fused = all(p.is_floating_point() for p in model.parameters())  # complex numbers are not supported
    kind = {"adamw": torch.optim.AdamW, "adam": torch.optim.Adam}[recipe.optimizer]
    return kind(parameter_groups(model, recipe), lr=recipe.learning_rate, fused=fused)


def parameter_groups(model: nn.Module, recipe: Recipe) -> list[dict[str, Any]]:
    """The parameters in up to three groups: with weight decay, without it, and recurrent.

    Biases, norms and embeddings have no weight decay. The `recurrent_parameters` of encoders have none
    either, and their learning rate has its own `factor`. Empty groups are left out.
    """
    recurrent = set(_recurrent(model))
    embeddings = {module.weight for module in model.modules() if isinstance(module, EMBEDDINGS)}
    decayed: list[nn.Parameter] = []
    plain: list[nn.Parameter] = []
    for parameter in model.parameters():
        if parameter not in recurrent:
            (plain if parameter.ndim <= 1 or parameter in embeddings else decayed).append(parameter)
    groups = (
        (decayed, recipe.weight_decay, 1.0),
        (plain, 0.0, 1.0),
        ([p for p in model.parameters() if p in recurrent], 0.0, recipe.recurrent_factor),
    )
    return [
        {"params": parameters, "weight_decay": decay, "factor": factor, "lr": recipe.learning_rate * factor}
        for parameters, decay, factor in groups
        if parameters
    ]


def set_rate(optimiser: torch.optim.Optimizer, rate: float) -> None:
    """Set the learning rate of every group to rate · factor of the group."""
    for group in optimiser.param_groups:
        group["lr"] = rate * group["factor"]


def _recurrent(model: nn.Module) -> Iterator[nn.Parameter]:
    for module in model.modules():
        if callable(own := getattr(module, "recurrent_parameters", None)):
            yield from own()
