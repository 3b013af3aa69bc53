import numpy as np
import pytest
import torch
from torch.nn import functional as F

from gredkit.data.objectives import IGNORED, LOSSES, METRICS, objective
from gredkit.errors import UserError


def test_accuracies_by_hand():
    outputs = torch.eye(3)[[0, 0, 0, 1, 2]]
    targets = torch.tensor([0, 0, 1, 1, IGNORED])
    assert METRICS["accuracy"].score(outputs, targets) == 0.75
    assert METRICS["class_mean_accuracy"].score(outputs, targets) == (1 + 0.5) / 2  # class 2 is not asked for


def test_class_mean_accuracy_is_the_confusion_matrix_of_the_benchmark():
    rng = np.random.default_rng(0)
    outputs, targets = torch.from_numpy(rng.standard_normal((200, 4))), torch.from_numpy(rng.integers(0, 4, 200))
    by_class = [(outputs.argmax(1)[targets == c] == c).double().mean() for c in range(4)]
    assert METRICS["class_mean_accuracy"].score(outputs, targets) == pytest.approx(float(sum(by_class) / 4))


def test_macro_f1_by_hand():
    outputs, targets = torch.eye(3)[[0, 0, 1, 1]], torch.tensor([0, 1, 1, 1])
    # Class 0: precision 1/2, recall 1. Class 1: precision 1, recall 2/3. Class 2 neither occurs nor is guessed.
    assert METRICS["macro_f1"].score(outputs, targets) == pytest.approx((2 / 3 + 4 / 5) / 2)


def test_average_precision_by_hand():
    # Ranked by score: right, wrong, right -> precision 1 at recall 1/2, 2/3 at recall 1.
    outputs = torch.tensor([[0.9, 0.1], [0.5, 0.2], [0.3, 0.3]])
    targets = torch.tensor([[1.0, 1.0], [0.0, 1.0], [1.0, 1.0]])  # the second label has no negative: left out
    assert METRICS["average_precision"].score(outputs, targets) == pytest.approx((1 + 2 / 3) / 2)
    unknown = torch.tensor([[1.0, 1.0], [float("nan"), 1.0], [0.0, 1.0]])
    assert METRICS["average_precision"].score(outputs, unknown) == 1


def test_mean_absolute_error_by_hand():
    assert METRICS["mae"].score(torch.tensor([[1.0], [3.0]]), torch.tensor([2.0, 1.0])) == 1.5
    assert objective("regression").loss(torch.tensor([[1.0], [3.0]]), torch.tensor([2.0, 1.0])) == 1.5


def test_unknown_labels_do_not_count():
    outputs = torch.randn(3, 2)
    targets = torch.tensor([[1.0, 0.0], [float("nan"), 1.0], [0.0, float("nan")]])
    known = [(0, 0), (0, 1), (1, 1), (2, 0)]
    one_by_one = [F.binary_cross_entropy_with_logits(outputs[i, j], targets[i, j]) for i, j in known]
    assert objective("labels").loss(outputs, targets).item() == pytest.approx(float(sum(one_by_one) / 4), rel=1e-6)


def test_balanced_loss_weighs_each_class_by_the_share_of_the_others():
    outputs, targets = torch.randn(6, 3), torch.tensor([0, 0, 0, 0, 1, 1])
    weight = torch.tensor([2 / 6, 4 / 6, 0.0])
    expected = F.cross_entropy(outputs, targets, weight=weight)
    assert objective("balanced_classification").loss(outputs, targets).item() == pytest.approx(expected.item())
    more = torch.cat([outputs, torch.randn(2, 3)]), torch.cat([targets, torch.tensor([IGNORED, IGNORED])])
    assert objective("balanced_classification").loss(*more).item() == pytest.approx(expected.item())


@pytest.mark.parametrize("task", ["classification", "balanced_classification"])
def test_a_batch_of_one_class_or_none_does_not_give_nan(task):
    outputs = torch.randn(3, 2, requires_grad=True)
    one = torch.tensor([1, 1, IGNORED])
    assert objective(task).loss(outputs, one).item() == pytest.approx(F.cross_entropy(outputs[:2], one[:2]).item())
    loss = objective(task).loss(outputs, torch.full((3,), IGNORED))
    loss.backward()
    assert loss.item() == 0
    assert (outputs.grad == 0).all()


def test_plain_classification_is_the_mean_over_what_is_asked():
    outputs, targets = torch.randn(5, 3), torch.tensor([0, IGNORED, 2, 1, IGNORED])
    expected = F.cross_entropy(outputs, targets, ignore_index=IGNORED)
    assert objective("classification").loss(outputs, targets).item() == pytest.approx(expected.item())


@pytest.mark.parametrize("name", METRICS)
def test_direction_of_better(name):
    metric = METRICS[name]
    assert metric.is_better(2, than=1) == metric.larger_is_better
    assert not metric.is_better(1, than=1)


def test_names_are_checked():
    assert objective("classification", "class_mean_accuracy").metric.name == "class_mean_accuracy"
    assert all(objective(task).metric.name in METRICS for task in LOSSES)
    with pytest.raises(UserError, match=r"task is one of regression, .*, not 'guessing'"):
        objective("guessing")
    with pytest.raises(UserError, match=r"metric is one of mae, .*, not 'luck'"):
        objective("regression", "luck")
