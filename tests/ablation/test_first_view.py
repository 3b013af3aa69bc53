"""What MLflow shows first of a study: scores, the best variant, a description and the report, in a real store."""

import pytest
from helpers.tracked_studies import TrackedStudy

from gredkit.ablation.first_view import NOTE, REPORT, show_in_mlflow


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
