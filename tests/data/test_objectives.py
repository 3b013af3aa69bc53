import pytest
import torch
from torch.nn import functional as F

from gredkit.data.objectives import CLASSES, KINDS, Loss, Metric, Objective, loss_for, metric_for, objective
from gredkit.errors import UserError
from gredkit.registry import LOSSES, METRICS, MetricRegistry, ObjectiveRegistry


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_task_has_its_usual_loss_and_metric(kind):
    found = objective(kind)
    assert (found.loss_name, found.metric.name) == KINDS[kind]
    assert found.kind == kind
    assert found.metric.larger_is_better == METRICS.larger_is_better(found.metric.name)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", LOSSES)
def test_a_loss_is_taken_for_the_tasks_that_it_fits_and_refused_for_others(name, kind):
    if LOSSES.fits(name, kind):
        assert objective(kind, loss=name).loss_name == name
        return
    with pytest.raises(UserError, match=rf"the loss '{name}' does not fit a task of {kind}: choose from ") as caught:
        objective(kind, loss=name)
    assert KINDS[kind][0] in str(caught.value)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", METRICS)
def test_a_metric_is_taken_for_the_tasks_that_it_fits_and_refused_for_others(name, kind):
    if METRICS.fits(name, kind):
        assert objective(kind, metric=name).metric.name == name
        return
    with pytest.raises(UserError, match=rf"the metric '{name}' does not fit a task of {kind}: choose from "):
        objective(kind, metric=name)


def test_names_are_checked():
    with pytest.raises(UserError, match=r"task is one of regression, .*, not 'guessing'"):
        objective("guessing")
    with pytest.raises(UserError, match=r"unknown metric 'luck': .*mae"):
        objective("regression", "luck")
    with pytest.raises(UserError, match=r"unknown loss 'hubert': did you mean 'huber'"):
        objective("regression", loss="hubert")


def test_any_function_can_be_the_loss_of_an_objective_made_by_hand():
    made = Objective(F.l1_loss, Metric("mae", lambda *_: 0.0, larger_is_better=False))
    assert made.loss_name == "l1_loss"
    assert made.loss(torch.ones(2), torch.zeros(2)) == 1


@pytest.fixture
def own_losses(monkeypatch):
    """An empty registry in the place of the real one."""
    empty = ObjectiveRegistry("loss", "losses", "gredkit.system")
    monkeypatch.setattr("gredkit.data.objectives.LOSSES", empty)
    return empty


def test_a_function_with_one_line_above_it_is_a_loss_for_every_kind_of_task(own_losses):
    @own_losses.register("cubed")
    def cubed(outputs, targets, scale=1.0):
        """A loss of a user's own."""
        return scale * (outputs - targets).abs().pow(3).mean()

    for kind in KINDS:
        assert loss_for(kind, "cubed", scale=2.0)(torch.tensor([3.0]), torch.tensor([1.0])) == 16
    assert loss_for("regression", "cubed")(torch.tensor([3.0]), torch.tensor([1.0])) == 8


def test_so_is_a_class_which_is_made_once_with_its_settings(own_losses):
    @own_losses.register("scaled", tasks=["regression"])
    class Scaled(torch.nn.Module):
        def __init__(self, scale=1.0):
            super().__init__()
            self.scale = scale

        def forward(self, outputs, targets):
            return self.scale * F.l1_loss(outputs, targets)

    made = loss_for("regression", "scaled", scale=3.0)
    assert isinstance(made, Loss)
    assert made(torch.tensor([1.0]), torch.tensor([3.0])) == 6
    with pytest.raises(UserError, match="the loss 'scaled' does not fit a task of labels"):
        loss_for("labels", "scaled")


def test_a_metric_says_its_direction_and_if_it_likes_its_label(monkeypatch):
    empty = MetricRegistry("metric", "metrics", "gredkit.system")
    monkeypatch.setattr("gredkit.data.objectives.METRICS", empty)

    @empty.register("worst_error", larger_is_better=False, tasks=["regression"])
    def worst(outputs, targets):
        return (outputs - targets).abs().max().item()

    @empty.register("hits", label="hits@1", larger_is_better=True)
    def hits(outputs, targets):
        return 1.0

    made = metric_for("regression", "worst_error")
    assert made.score(torch.tensor([1.0, 5.0]), torch.tensor([2.0, 2.0])) == 3
    assert made.is_better(1, than=2)
    assert (empty.label("worst_error"), empty.label("hits")) == ("worst error", "hits@1")
    assert all(metric_for(kind, "hits").larger_is_better for kind in KINDS)
    with pytest.raises(UserError, match=r"say whether a larger depth is better: @METRICS\.register\('depth', larger_"):
        empty.register("depth")


def test_kinds_of_classes_are_kinds():
    assert set(CLASSES) < set(KINDS)
