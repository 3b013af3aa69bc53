"""The names of a trial's measurements in MLflow."""

import json
from collections.abc import Iterable
from typing import Any

import numpy as np

from gredkit.trials.folder import CURVE, Event

EPOCH = {
    "train/loss": "train_loss",
    "train/learning_rate": "learning_rate",
    "validation/loss": "validation_loss",
    "validation/score": "validation",
    "cost/seconds_per_epoch": "seconds",
    "cost/graphs_per_second": "samples_per_second",
    "cost/peak_mb": "peak_mb",
}
RESULT = {
    "best/epoch": "epoch",
    "best/validation": "validation",
    "best/test": "test",
    "best/test_loss": "test_loss",
    "best/train": "train",  # only where fit.train_score asks for it
    "final/epoch": "final_epoch",
    "final/validation": "final_validation",
    "final/train_loss": "final_train_loss",
    "cost/seconds": "seconds",
    "cost/other_load": "other_load",  # the part of the processor that other programs used meanwhile
}

POINTS = 100  # the largest number of points of a curve


def measured(event: Event) -> list[Any]:
    """An event as MLflow metrics: names that sort and group by their first part, one step per epoch.

    Values that exist once per trial are at step 0, so that MLflow draws bars instead of curves.
    """
    from mlflow.entities import Metric

    names = {"epoch": EPOCH, "result": RESULT}.get(event["event"], {})
    step = event["epoch"] if event["event"] == "epoch" else 0
    known = {name: event[key] for name, key in names.items() if event.get(key) is not None}
    known |= {f"system/{name}": value for name, value in event.get("system", {}).items()}  # MLflow shows them apart
    return [Metric(name, float(value), event["time"], step) for name, value in known.items()]


def curve(events: Iterable[Event]) -> str:
    """The learning curve, short enough for a tag.

    A report reads the tags of all trials in one request, but metric histories only one by one. At most `POINTS`
    evenly spaced epochs are kept, including the first and the last, with four digits per number.
    """
    epochs = {event["epoch"]: event for event in events if event["event"] == "epoch"}
    ordered = [epochs[epoch] for epoch in sorted(epochs)]
    places = np.unique(np.linspace(0, len(ordered) - 1, min(POINTS, len(ordered))).round().astype(int))
    some = [ordered[place] for place in places]
    short = {key: [float(f"{event[key]:.4g}") for event in some] for key in CURVE}
    return json.dumps({"epoch": [event["epoch"] for event in some], **short}, separators=(",", ":")) if some else ""
