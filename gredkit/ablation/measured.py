"""The names under which MLflow keeps what a trial measures."""

from typing import Any

from gredkit.ablation.folder import Event

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
    "final/epoch": "final_epoch",
    "final/validation": "final_validation",
    "final/train_loss": "final_train_loss",
    "cost/seconds": "seconds",
}


def measured(event: Event) -> list[Any]:
    """An event as MLflow's metrics: names that sort and group by their first part, one step an epoch.

    What there is once a trial stands at step 0, for which MLflow draws bars and no curves.
    """
    from mlflow.entities import Metric

    names = {"epoch": EPOCH, "result": RESULT}.get(event["event"], {})
    step = event["epoch"] if event["event"] == "epoch" else 0
    return [Metric(name, float(event[key]), event["time"], step) for name, key in names.items()]
