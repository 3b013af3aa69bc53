"""What the id of a trial is made of; whole studies and their ids are in test_plan."""

import sys
from functools import partial
from importlib import import_module

import pytest

from gredkit.ablation.identity import _code_of, _syntax
from gredkit.data.objectives import Loss, loss_for, metric_for


@pytest.fixture
def written(tmp_path, monkeypatch):
    """Write a module of a user's own and import it, again and again."""
    monkeypatch.syspath_prepend(tmp_path)

    def write(text):
        (tmp_path / "own_objective.py").write_text(text)
        sys.modules.pop("own_objective", None)
        _syntax.cache_clear()
        return import_module("own_objective")

    yield write
    sys.modules.pop("own_objective", None)
    _syntax.cache_clear()


FUNCTION = "def own(outputs, targets, scale=1.0):\n    return (outputs - targets).{}()\n"
CLASS = "class Own:\n    def __call__(self, outputs, targets):\n        return (outputs - targets).{}()\n"


@pytest.mark.parametrize(
    "taken",
    [
        lambda module: module.own,
        lambda module: partial(module.own, scale=2.0),
        lambda module: Loss("own", module.own),
        lambda module: Loss("own", partial(module.own, scale=2.0)),
    ],
    ids=["function", "with settings", "loss", "loss with settings"],
)
def test_the_code_of_a_function_counts_in_whatever_it_is_wrapped(written, taken):
    first = _code_of(taken(written(FUNCTION.format("sum"))))
    assert _code_of(taken(written(f"# a comment\n{FUNCTION.format('sum')}"))) == first
    assert _code_of(taken(written(FUNCTION.format("mean")))) != first


def test_the_code_of_an_object_is_that_of_its_class(written):
    first = _code_of(Loss("own", written(CLASS.format("sum")).Own()))
    assert _code_of(Loss("own", written(CLASS.format("sum")).Own())) == first
    assert _code_of(Loss("own", written(CLASS.format("mean")).Own())) != first


def test_losses_and_metrics_of_one_file_are_told_apart():
    losses = {_code_of(loss_for("regression", name)) for name in ("l1", "l2", "huber")}
    scores = {_code_of(metric_for("regression", name).score) for name in ("mae", "rmse", "r2")}
    assert len(losses) == len(scores) == 3
