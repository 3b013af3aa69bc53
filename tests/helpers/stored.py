"""Small models for the tests of what is stored: composed by hand, with weights that no initialisation gives."""

import json
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from gredkit.data.hops.cache import prepare
from gredkit.data.task import GraphSpec, Task
from gredkit.inference.about import CHECKSUM, SavedModel, sealed
from gredkit.inference.saved import ABOUT, save
from gredkit.nn.composition import PARTS, Composition, Part
from gredkit.nn.features.base import usual_features
from gredkit.nn.models.base import needs_of
from gredkit.registry import hyperparameters
from gredkit.training.evaluation import predict_all

USUAL = {"positional": "none", "aggregator": "sum", "encoder": "lru", "sequence": "hops"}


def composed(spec: GraphSpec, **names: str) -> Composition:
    """A GRED of one layer with the named parts, and the usual ones for all others."""
    edges = None if spec.edges is None else usual_features(spec.edges)
    chosen = {"features": usual_features(spec.nodes), "edge_features": edges, **USUAL, **names}
    parts = {kind: name and Part(name, hyperparameters(PARTS[kind][name])) for kind, name in chosen.items()}
    return Composition(Part("gred", {"dim": 24, "layers": 1}), parts)


def model_for(task: Task, composition: Composition) -> nn.Module:
    torch.manual_seed(0)
    model = composition.build(task.spec).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += 0.1 * torch.randn_like(parameter)
    return model


def store(folder: Path, task: Task, dataset: str, K: int | None = 3, **about: Any) -> nn.Module:
    """Store a model of a task; `about` is the rest of what `SavedModel.of` is told, or names of parts."""
    names = {kind: about.pop(kind) for kind in PARTS if kind in about}
    composition = composed(task.spec, **names)
    model = model_for(task, composition)
    save(folder, model, SavedModel.of(task, composition, K, dataset, **about))
    return model


def edited(folder: Path, **changes: Any) -> Path:
    """Another model.json, with a checksum that fits it: what somebody may write, and no damage."""
    told = json.loads((folder / ABOUT).read_text())
    del told[CHECKSUM]
    (folder / ABOUT).write_text(sealed({**told, **changes}))
    return folder


def answers(model: nn.Module, task: Task, K: int | None = 3) -> Tensor:
    """What the model answers to the task's own graphs, prepared as for training."""
    return predict_all(model, prepare(task.graphs, needs_of(model, K), progress=False), batch_size=64)
