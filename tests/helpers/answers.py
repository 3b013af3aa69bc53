"""Outputs and targets of every kind of task."""

import numpy as np
import torch
from torch import Tensor

from gredkit.data.objectives import IGNORED

NAN = float("nan")


def some(kind: str, items: int = 7, outputs: int = 3, seed: int = 0) -> tuple[Tensor, Tensor]:
    """Random ones; the first label is unknown, the second class is not asked."""
    rng = np.random.default_rng(seed)
    answers = torch.from_numpy(rng.standard_normal((items, outputs)))
    if kind == "regression":
        return answers, torch.from_numpy(rng.standard_normal((items, outputs)))
    if kind == "labels":
        targets = torch.from_numpy(rng.integers(0, 2, (items, outputs)).astype(float))
        targets[0, 0] = NAN
        return answers, targets
    targets = torch.from_numpy(rng.integers(0, outputs, items))
    targets[1] = IGNORED
    return answers, targets
