"""Show the results of a study in the run of the invocation, which is the first that MLflow shows."""

import time
from pathlib import Path

from gredkit.ablation.best_models import add_best_models
from gredkit.reports import overview
from gredkit.reports.study import StudyData
from gredkit.tracking.tracker import LONGEST, Tracker

REPORT = "report"  # the folder of artifacts
NOTE = "mlflow.note.content"  # what MLflow shows as the description of a run
SHOWN = (".html", ".png", ".csv", ".md")


def show_in_mlflow(tracker: Tracker, study: StudyData, files: list[Path]) -> None:
    """Means and intervals as metrics, the best variants as tags, a description, the report, and the best models."""
    from mlflow.entities import Metric

    now = int(time.time() * 1000)
    metrics = [Metric(name, float(value), now, 0) for name, value in overview.metrics(study).items()]
    tags = {name: value[:LONGEST] for name, value in overview.best(study).items()}
    tracker.log(tracker.invocation, metrics=metrics, tags={**tags, NOTE: overview.description(study, LONGEST)})
    for file in files:
        if file.suffix in SHOWN:
            tracker.client.log_artifact(tracker.invocation, str(file), REPORT)
    add_best_models(tracker, study.results)
