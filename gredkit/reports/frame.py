"""The trials of a study as MLflow has them: one row each."""

from typing import Any

import pandas as pd

from gredkit.ablation.tracking import Tracker

METRICS = {
    "test": "best/test",
    "validation": "best/validation",
    "epoch": "best/epoch",
    "seconds": "cost/seconds",
    "seconds_per_epoch": "cost/seconds_per_epoch",
    "peak_mb": "cost/peak_mb",
}


def trials_frame(tracker: Tracker) -> pd.DataFrame:
    """The final trials of the study's last invocation, with their state; one that MLflow lacks is 'missing'."""
    known = tracker.trials()
    rows: list[dict[str, Any]] = []
    for planned in tracker.last_plan():
        found = known.get(planned["id"])
        measured = {column: found.metrics.get(name) if found else None for column, name in METRICS.items()}
        state = {"state": found.state if found else "missing", "message": found.message if found else ""}
        rows.append({**planned, **state, **measured, "run": found.run if found else ""})
    columns = ["id", "variant", "dataset", "seed", "state", *METRICS]
    return pd.DataFrame(rows) if rows else pd.DataFrame(columns=columns)
