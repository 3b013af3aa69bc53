"""What a model answers, and how good that is."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch_geometric.data import Batch, Data
from torch_geometric.loader import DataLoader

from gredkit.data.task import Task
from gredkit.errors import UserError
from gredkit.training.device import autocast

CPU = torch.device("cpu")


class NotFinite(ArithmeticError):
    """A model answered with infinities or with what is not a number."""


class Evaluation(NamedTuple):
    """The task's loss and metric over all graphs."""

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
    """The loss and the metric over all graphs at once, so that the size of a batch does not matter."""
    answers = list(_answers(model, graphs, batch_size, device, precision))
    outputs, targets = torch.cat([output for output, _ in answers]).cpu(), torch.cat([batch.y for _, batch in answers])
    if not outputs.isfinite().all():
        raise NotFinite("the outputs are not finite")
    targets = targets.cpu()
    return Evaluation(task.objective.loss(outputs, targets).item(), task.objective.metric.score(outputs, targets))


def predict_all(
    model: nn.Module,
    graphs: Sequence[Data],
    batch_size: int = 32,
    device: torch.device = CPU,
    precision: str = "float32",
) -> Tensor:
    """What the model, which is on `device`, answers to prepared graphs, in their order and on the CPU.

    Shape: -> [graphs, outputs], or [nodes, outputs] for a task of level 'node'
    """
    if not graphs:
        raise UserError("there is no graph to answer to: give at least one")
    return torch.cat([output for output, _ in _answers(model, graphs, batch_size, device, precision)]).cpu()


def batches(loader: DataLoader, device: torch.device) -> Iterator[Batch]:
    """The batches of a loader, on a device."""
    for batch in loader:
        yield batch.to(device, non_blocking=True)


def at_least_single(outputs: Tensor) -> Tensor:
    """Half precision becomes float32, in which losses and metrics are computed."""
    return outputs.to(torch.promote_types(outputs.dtype, torch.float32))


@torch.no_grad()
def _answers(
    model: nn.Module, graphs: Sequence[Data], batch_size: int, device: torch.device, precision: str
) -> Iterator[tuple[Tensor, Batch]]:
    model.eval()
    for batch in batches(DataLoader(graphs, batch_size, pin_memory=device.type == "cuda"), device):
        with autocast(device, precision):
            outputs = model(batch)
        yield at_least_single(outputs), batch
