"""A training that kills its own process, which is forked from the tests' server."""

import os
import signal
import sys
from pathlib import Path

import torch
from training.resumed import KINDS, run_of, task_of
from training.small import small_model


def train_until_killed(path: Path, when: str) -> None:
    """In the third step of epoch 3, or with the checkpoint of epoch 3 written but not yet in place."""
    torch.set_num_threads(1)
    kind = "random signs and dropout"
    model = small_model(task_of(kind), **KINDS[kind][0])
    calls = 0

    def count() -> None:
        nonlocal calls
        calls += 1
        if calls == {"in a step": 15, "while writing": 4}[when]:
            os.kill(os.getpid(), signal.SIGKILL)

    def count_renaming(event: str, names: tuple[object, ...]) -> None:
        if event == "os.rename" and str(path) in map(str, names):
            count()

    if when == "in a step":  # four a training epoch
        model.register_forward_hook(lambda m, *_: count() if m.training else None)
    else:
        sys.addaudithook(count_renaming)
    run_of(kind, model=model, checkpoint=path)
