"""What MLflow shows of a study at first sight: only names that it accepts."""

import posixpath

from helpers.known_results import results
from mlflow.utils.validation import _validate_metric_name

from gredkit.reports.overview import metrics
from gredkit.reports.study import StudyData


def test_names_are_those_that_mlflow_accepts_and_too_long_ones_are_left_out():
    scores = {("rings", name): [0.25, 0.75] for name in ("K=4, gcn+", "a/b", "long " * 60)}
    found = metrics(StudyData("tiny", results(scores)))
    assert {posixpath.dirname(name) for name in found} == {"test/rings", "test/rings/K_4_ gcn_", "test/rings/a_b"}
    assert found["test/rings/a_b"] == 0.5
    for name in found:
        _validate_metric_name(name)
