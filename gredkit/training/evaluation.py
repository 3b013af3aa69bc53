"""A model's predictions, and how good they are."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch_geometric.data import Batch, Data
from torch_geometric.loader import DataLoader

from gredkit.data.task import Task
from gredkit.errors import UserError
from gredkit.training.device import autocast
from gredkit.training.moving import moved

CPU = torch.device("cpu")


class NotFinite(ArithmeticError):
    """A model's outputs contain NaN or infinity."""


class Evaluation(NamedTuple):
    """The task's loss and metric (score) over all graphs."""

    loss: float
    score: float


def evaluate(
    model: nn.Module,
    graphs: Sequence[Data],
    task: Task,
    batch_size: int = 32,
    device: torch.device = CPU,
    precision: str = "float32",
) -> Evaluation:
    """The loss and the metric over all graphs at once, so that they do not depend on the batch size."""
    answers = list(_answers(model, graphs, batch_size, device, precision))
    outputs, targets = torch.cat([output for output, _ in answers]).cpu(), torch.cat([batch.y for _, batch in answers])
    if not outputs.isfinite().all():
        raise NotFinite("the outputs contain NaN or infinity")
    targets = targets.cpu()
    return Evaluation(task.objective.loss(outputs, targets).item(), task.objective.metric.score(outputs, targets))


def predict_all(
    model: nn.Module,
    graphs: Sequence[Data],
    batch_size: int = 32,
    device: torch.device = CPU,
    precision: str = "float32",
) -> Tensor:
    """Predictions for prepared graphs, in their order, on the CPU; the model is already on `device`.

    Shape: -> [graphs, outputs], or [nodes, outputs] for a task of level 'node'
    """
    if not graphs:
        raise UserError("there is no graph to predict: give at least one")
    return torch.cat([output for output, _ in _answers(model, graphs, batch_size, device, precision)]).cpu()


def batches(loader: DataLoader, device: torch.device, model: nn.Module | None = None) -> Iterator[Batch]:
    """The batches of a loader, moved to a device for a model that is not compiled."""
    for batch in loader:
        yield moved(batch, device, model)


def at_least_single(outputs: Tensor) -> Tensor:
    """Convert half precision to float32, because losses and metrics are computed in it."""
    return outputs.to(torch.promote_types(outputs.dtype, torch.float32))


@torch.no_grad()
def _answers(
    model: nn.Module, graphs: Sequence[Data], batch_size: int, device: torch.device, precision: str
) -> Iterator[tuple[Tensor, Batch]]:
    model.eval()
    for batch in batches(DataLoader(graphs, batch_size), device, model):
        with autocast(device, precision):
            outputs = model(batch)
        yield at_least_single(outputs), batch
