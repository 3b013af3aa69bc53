"""The range of a metric stands in the line that registers it, and its margin follows from it."""

import pytest

from gredkit.errors import UserError
from gredkit.registry import METRICS, MetricRegistry
from gredkit.reports import margins
from gredkit.reports.margins import RANGES, margin_of


@pytest.fixture
def own(monkeypatch):
    """Metrics of a user, and no others."""
    registry = MetricRegistry("metric", "metrics", "gredkit.data.metrics")
    monkeypatch.setattr(margins, "METRICS", registry)
    return registry


def test_metrics_from_0_to_1_have_a_range_and_errors_have_none():
    assert METRICS.range("accuracy") == (0, 1)
    names = {"accuracy", "average_precision", "class_mean_accuracy", "macro_f1", "r2", "roc_auc"}
    assert dict(RANGES) == dict.fromkeys(names, 1)
    assert set(METRICS) - set(RANGES) >= {"mae", "rmse"}


def test_a_user_declares_the_range_of_a_metric(own):
    own.register("percent", larger_is_better=True, range=(0, 100))(lambda outputs, targets: 50.0)
    own.register("distance", larger_is_better=False)(lambda outputs, targets: 50.0)
    assert margin_of("percent", None, [50.0]) == 1
    assert margin_of("percent", 0.2, [50.0]) == 0.2
    assert margin_of("distance", None, [50.0, 70.0]) == pytest.approx(0.6)
    assert margin_of("of an older study", None, [50.0]) == 0.5
    assert dict(RANGES) == {"percent": 100}


@pytest.mark.parametrize("limits", [(1, 0), (0, 0), (0, float("inf")), (0, float("nan")), (1,)])
def test_a_range_that_is_none_is_a_mistake(own, limits):
    with pytest.raises(UserError, match=r"range of the metric share is .*: give its lowest and its highest score"):
        own.register("share", larger_is_better=True, range=limits)
