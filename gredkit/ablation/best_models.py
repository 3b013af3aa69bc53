"""The best models of a study as LoggedModels, which MLflow lists on its page of models."""

import re
from pathlib import Path
from tempfile import TemporaryDirectory

import pandas as pd

from gredkit.inference.mlmodel import MLMODEL, described
from gredkit.tracking.download import ARTIFACT
from gredkit.tracking.runs import StudyRuns
from gredkit.trials.state import TrialState

FORBIDDEN = re.compile(r"[/:.%\"']")  # characters that are not allowed in the name of a model


def add_best_models(runs: StudyRuns, results: pd.DataFrame) -> None:
    """One for each dataset: the final trial with the best validation score, since the test score only judges."""
    trained = results[(results["state"] == TrialState.FINISHED.value) & (results["role"] == "final")]
    for dataset, trials in trained.dropna(subset=["validation"]).groupby("dataset"):
        ordered = trials.sort_values("validation", ascending=not trials["larger_is_better"].iloc[0], kind="stable")
        best = ordered.iloc[0]
        tags = {name: str(best[name]) for name in ("variant", "dataset", "seed")}
        _add(runs, best["run"], FORBIDDEN.sub("_", f"{runs.study}, {dataset}"), tags)


def _add(runs: StudyRuns, run: str, name: str, tags: dict[str, str]) -> None:
    """Copy the stored model of a run to a LoggedModel, or complete the one that it has."""
    from mlflow.entities import LoggedModelOutput, LoggedModelStatus

    client = runs.client
    if ARTIFACT not in runs.artifacts(run):
        return
    found = client.search_logged_models([runs.experiment], f"source_run_id = '{run}'")
    model = found[0] if found else client.create_logged_model(runs.experiment, name, run, tags)
    if model.status == LoggedModelStatus.READY:
        return
    with TemporaryDirectory(prefix="gredkit-") as folder:
        files = Path(client.download_artifacts(run, ARTIFACT, folder))
        if not (files / MLMODEL).exists():  # an older version stored it
            (files / MLMODEL).write_text(described())
        client.log_model_artifacts(model.model_id, str(files))
    client.log_outputs(run, [LoggedModelOutput(model.model_id, step=0)])
    client.finalize_logged_model(model.model_id, LoggedModelStatus.READY)
