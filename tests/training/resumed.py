"""The trainings that tests interrupt and continue."""

from dataclasses import replace
from functools import partial

from training.small import but_seconds, small_model, small_task, train, weights, with_scores

from gredkit.nn.positional.lap_pe import LapPE

EPOCHS = 5
SCORES = (0.5, 0.6, 0.1, 0.2, 0.3)
KINDS = {
    "plain": ({}, {}),
    "random signs and dropout": ({"dropout": 0.3, "positional": partial(LapPE, k=3, width=4)}, {"clip_norm": 0.1}),
    "float16": ({"dropout": 0.1}, {"precision": "float16"}),
    "gru": ({"encoder": "gru"}, {"recurrent_factor": 0.1, "warmup": 0.5}),
    "early stopping": ({}, {"patience": 2}),
    "plateau": (
        {"dropout": 0.1},
        {"optimizer": "adam", "schedule": "plateau", "plateau_patience": 0, "warmup": 0.1, "learning_rate": 0.3},
    ),
}


def task_of(kind, first_epoch=0):
    """For early stopping, scores that improve no more after epoch 1; for float16, a loss that overflows at first."""
    task = small_task()
    if kind == "early stopping":
        return with_scores(task, *SCORES[first_epoch:])
    if kind == "float16":
        large = replace(task.objective, loss=lambda outputs, y: 1e4 * task.objective.loss(outputs, y))
        return replace(task, objective=large)
    return task


def epochs_of(kind):
    return 4 if kind == "early stopping" else EPOCHS


def run_of(kind, first_epoch=0, model=None, **how):
    of_model, recipe = KINDS[kind]
    task = task_of(kind, first_epoch)
    model = model or small_model(task, **of_model)
    return but_seconds(train(model, task, epochs=EPOCHS, **recipe, **how)), weights(model)
