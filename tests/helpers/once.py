"""What must hold of a study in MLflow, whatever happened to it: each trial once, each of its numbers once."""

from collections import Counter

from mlflow.entities import ViewType

from gredkit.tracking.measured import EPOCH, RESULT
from helpers.studies import TRIALS, TinyStudy


def assert_everything_once(study: TinyStudy, epochs: int, trials: int = TRIALS) -> None:
    """One run a trial, finished, with every metric of every step once; and nothing is left to do."""
    tracker = study.tracker()
    runs = tracker.search("tags.kind = 'trial'")
    assert Counter(run.data.tags["state"] for run in runs) == {"finished": trials}
    assert len({run.data.tags["trial_id"] for run in runs}) == trials
    assert "RUNNING" not in study.statuses()
    for run in runs:
        for names, steps in ((EPOCH, list(range(epochs))), (RESULT.keys() - {"best/train"}, [0])):
            for name in names:
                history = tracker.client.get_metric_history(run.info.run_id, name)
                assert sorted(point.step for point in history) == steps, (run.info.run_name, name)
        files = {file.path for file in tracker.client.list_artifacts(run.info.run_id)}
        assert {"config.gin", "environment.json", "model"} <= files
    assert not list(study.folder.glob(".gredkit/*/*/trial.json"))


def trained(study: TinyStudy) -> Counter[str]:
    """How many runs each trial ever had, those that were thrown away included."""
    tracker = study.tracker()
    found = tracker.client.search_runs([tracker.experiment], "tags.kind = 'trial'", run_view_type=ViewType.ALL)
    return Counter(run.data.tags["trial_id"] for run in found)
