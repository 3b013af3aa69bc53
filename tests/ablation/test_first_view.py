"""What MLflow shows first of a study: scores, the best variant, a description and the report, in a real store."""

import mlflow
import pytest
from helpers.stored import store
from helpers.tracked_studies import TrackedStudy

from gredkit.ablation.first_view import NOTE, REPORT, show_in_mlflow
from gredkit.data.datasets.ring_transfer import ring_transfer
from gredkit.inference.mlmodel import MLMODEL
from gredkit.inference.saved import ABOUT, WEIGHTS


def test_the_run_of_the_invocation_has_scores_the_best_variant_and_the_report(tmp_path):
    study = TrackedStudy(tmp_path)
    study.tell(lambda trial: {"lru": 0.9, "mean": 0.3}[trial.settings["encoder"]] + 0.01 * trial.seed)
    files = [tmp_path / name for name in ("index.html", "cost.png", "table.csv", "table.md", "cost.pdf", "table.tex")]
    for file in files:
        file.write_text(file.name)
    show_in_mlflow(study.tracker, study.read(), files)
    client, invocation = study.tracker.client, study.tracker.invocation
    data = client.get_run(invocation).data
    assert data.metrics["test/ring_transfer/lru"] == pytest.approx(0.91)
    assert data.metrics["test/ring_transfer/mean"] == pytest.approx(0.31)
    assert data.metrics["test/ring_transfer/lru/low"] < 0.91 < data.metrics["test/ring_transfer/lru/high"]
    assert data.tags["best/ring_transfer"].startswith("lru (")
    assert "ring_transfer" in data.tags[NOTE]
    assert "| lru" in data.tags[NOTE]
    shown = [f"{REPORT}/{name}" for name in ("cost.png", "index.html", "table.csv", "table.md")]
    assert sorted(file.path for file in client.list_artifacts(invocation, REPORT)) == shown


def test_the_best_model_of_a_dataset_is_a_logged_model(tmp_path, monkeypatch):
    study = TrackedStudy(tmp_path)
    study.tell(lambda trial: {"lru": 0.9, "mean": 0.3}[trial.settings["encoder"]] + 0.01 * trial.seed)
    client, task = study.tracker.client, ring_transfer(distance=2, graphs=10)
    store(tmp_path / "model", task, "ring_transfer")
    for known in study.tracker.trials().values():
        for name in (ABOUT, WEIGHTS):  # as versions did that had no MLmodel
            client.log_artifact(known.run, str(tmp_path / "model" / name), "model")
    for _ in range(2):  # as when the same command is run again
        show_in_mlflow(study.tracker, study.read(), [])
    (model,) = client.search_logged_models([study.tracker.experiment])
    best = client.get_run(model.source_run_id)
    assert best.data.metrics["best/validation"] == max(
        known.metrics["best/validation"] for known in study.tracker.trials().values()
    )
    assert model.tags.items() >= {"variant": "lru", "dataset": "ring_transfer", "seed": best.data.tags["seed"]}.items()
    assert [output.model_id for output in best.outputs.model_outputs] == [model.model_id]
    monkeypatch.setenv("MLFLOW_TRACKING_URI", study.uri)
    loaded = mlflow.pyfunc.load_model(f"models:/{model.model_id}", dst_path=str(tmp_path))
    assert loaded.predict(task.graphs)["graph"].nunique() == 10
    assert (tmp_path / MLMODEL).is_file()
