"""Train a model on a task, choose by validation, test once."""

from copy import deepcopy
from dataclasses import dataclass

import torch
from torch import nn
from torch_geometric.data import Data
from torch_geometric.loader import DataLoader

from gredkit.data.cache import prepare
from gredkit.data.task import SPLITS, Task
from gredkit.errors import UserError
from gredkit.nn.positional.base import PositionalEncoding


@dataclass(frozen=True)
class Result:
    """The metric at the best validation epoch."""

    epoch: int
    validation: float
    test: float


def fit(
    model: nn.Module,
    task: Task,
    seed: int,
    K: int | None = None,
    epochs: int = 20,
    batch_size: int = 32,
    learning_rate: float = 1e-3,
    weight_decay: float = 0.1,
) -> Result:
    """Minimise the task's loss; the epoch that validates best is the one that is tested."""
    if epochs < 1:
        raise UserError(f"training takes at least one epoch, not {epochs}")
    torch.manual_seed(seed)
    positional: PositionalEncoding = model.positional  # type: ignore[assignment]
    graphs = prepare(task.graphs, K, positional)
    train, validation, test = ([graphs[i] for i in task.splits[split]] for split in SPLITS)
    batches = DataLoader(train, batch_size, shuffle=True, drop_last=len(train) > batch_size)  # as published
    optimiser = torch.optim.AdamW(model.parameters(), learning_rate, weight_decay=weight_decay)
    best, best_weights = None, {}
    for epoch in range(epochs):
        model.train()
        for batch in batches:
            optimiser.zero_grad()
            task.objective.loss(model(batch), batch.y).backward()
            optimiser.step()
        score = evaluate(model, validation, task, batch_size)
        if best is None or task.objective.metric.is_better(score, than=best[1]):
            best, best_weights = (epoch, score), deepcopy(model.state_dict())
    assert best is not None
    model.load_state_dict(best_weights)
    return Result(*best, test=evaluate(model, test, task, batch_size))


@torch.no_grad()
def evaluate(model: nn.Module, graphs: list[Data], task: Task, batch_size: int) -> float:
    """The task's metric over all graphs."""
    model.eval()
    answers = [(model(batch), batch.y) for batch in DataLoader(graphs, batch_size)]
    return task.objective.metric.score(torch.cat([a for a, _ in answers]), torch.cat([y for _, y in answers]))
