import subprocess
import sys
import warnings

import numpy as np
import pytest
import torch
from helpers.answers import NAN, some
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics as sklearn

from gredkit.data.objectives import IGNORED, KINDS, metric_for
from gredkit.registry import METRICS
from gredkit.reports.numbers import metric_name

PAIRS = [(name, kind) for name in METRICS for kind in KINDS if METRICS.fits(name, kind)]
SEEDS = st.integers(0, 10_000)


def score(name, outputs, targets, kind=None):
    return metric_for(kind or next(k for k in KINDS if METRICS.fits(name, k)), name).score(outputs, targets)


def perfect(kind, targets):
    if kind == "regression":
        return targets.clone()
    if kind == "labels":
        return 2 * targets.nan_to_num() - 1
    return torch.nn.functional.one_hot(targets.clamp(min=0), 3).double()


@pytest.mark.parametrize(("name", "kind"), PAIRS)
def test_no_outputs_are_better_than_perfect_ones(name, kind):
    metric = metric_for(kind, name)
    outputs, targets = some(kind, items=30)
    best = metric.score(perfect(kind, targets), targets)
    assert best == pytest.approx(1 if metric.larger_is_better else 0)
    assert metric.is_better(best, than=metric.score(outputs, targets))
    assert not metric.is_better(best, than=best)


@pytest.mark.parametrize(("name", "kind"), PAIRS)
def test_the_order_of_items_does_not_matter_to_any_metric(name, kind):
    outputs, targets = some(kind, items=30)
    order = torch.randperm(30, generator=torch.Generator().manual_seed(1))
    assert score(name, outputs[order], targets[order], kind) == pytest.approx(score(name, outputs, targets, kind))


@pytest.mark.parametrize(("name", "kind"), [pair for pair in PAIRS if pair[1] != "regression"])
def test_what_is_unknown_or_not_asked_does_not_count_and_nothing_known_has_no_score(name, kind):
    outputs, targets = some(kind, items=30)
    nothing = torch.full_like(targets, NAN if kind == "labels" else IGNORED)
    more = torch.cat([outputs, torch.randn_like(outputs)]), torch.cat([targets, nothing])
    assert score(name, *more, kind) == pytest.approx(score(name, outputs, targets, kind), rel=1e-12)
    assert np.isnan(score(name, outputs, nothing, kind))


@pytest.mark.parametrize(("name", "kind"), PAIRS)
def test_outputs_of_a_network_in_single_precision_and_with_a_gradient_are_taken(name, kind):
    outputs, targets = some(kind, items=30)
    found = score(name, outputs.float().requires_grad_(), targets.float() if kind == "regression" else targets, kind)
    assert found == pytest.approx(score(name, outputs, targets, kind), rel=1e-5)


@given(seed=SEEDS, items=st.integers(2, 20), targets=st.integers(1, 4))
def test_metrics_of_numbers_against_scikit_learn(seed, items, targets):
    outputs, wanted = some("regression", items, targets, seed)
    asked = wanted.numpy(), outputs.numpy()
    assert score("mae", outputs, wanted) == pytest.approx(sklearn.mean_absolute_error(*asked), rel=1e-12)
    assert score("rmse", outputs, wanted) == pytest.approx(sklearn.root_mean_squared_error(*asked), rel=1e-12)
    assert score("r2", outputs, wanted) == pytest.approx(sklearn.r2_score(*asked), rel=1e-9)


def test_r2_leaves_out_constant_targets():
    outputs = torch.tensor([[1.0, 5.0], [2.0, 6.0], [3.0, 7.0]])
    wanted = torch.tensor([[1.0, 4.0], [2.0, 4.0], [6.0, 4.0]])
    assert score("r2", outputs, wanted) == pytest.approx(
        sklearn.r2_score(wanted[:, :1].numpy(), outputs[:, :1].numpy())
    )
    assert np.isnan(score("r2", outputs[:, 1:], wanted[:, 1:]))
    assert np.isnan(score("r2", outputs[:1], wanted[:1]))  # one item does not vary
    assert score("rmse", outputs[:, 1:], wanted[:, 1:]) == pytest.approx(((1 + 4 + 9) / 3) ** 0.5)


def test_r2_of_large_numbers_that_hardly_vary_is_exact():
    """A difference of squares would have no digit left."""
    wanted = torch.tensor([[1e8], [1e8 + 1], [1e8 + 2]], dtype=torch.float64)
    assert score("r2", wanted + torch.tensor([[0.5], [0.0], [-0.5]]), wanted) == pytest.approx(1 - 0.5 / 2)


@given(seed=SEEDS, items=st.integers(2, 30), classes=st.integers(2, 4))
def test_metrics_of_classes_against_counting(seed, items, classes):
    outputs, wanted = some("classification", items, classes, seed)
    asked = (wanted != IGNORED).numpy()
    truth, guess = wanted.numpy()[asked], outputs.numpy().argmax(1)[asked]
    recall, f1 = [], []
    for c in range(classes):
        hit, right, said = ((truth == c) & (guess == c)).sum(), (truth == c).sum(), (guess == c).sum()
        recall += [hit / right] if right else []
        f1 += [2 * hit / (right + said)] if right + said else []
    assert score("accuracy", outputs, wanted) == pytest.approx((truth == guess).mean())
    assert score("class_mean_accuracy", outputs, wanted) == pytest.approx(np.mean(recall))
    assert score("macro_f1", outputs, wanted) == pytest.approx(np.mean(f1))


def pairs_in_order(truth, ranked_by):
    """How many pairs of a positive and a negative item are in order; a tie is half a pair."""
    above = ranked_by[truth == 1][:, None] - ranked_by[truth == 0]
    return ((above > 0) + 0.5 * (above == 0)).mean()


def mean_precision(truth, ranked_by):
    """The precision at each threshold, weighted by the recall that it adds."""
    total, found = 0.0, 0
    for threshold in np.unique(ranked_by)[::-1]:
        chosen = truth[ranked_by >= threshold]
        total += chosen.mean() * (chosen.sum() - found)
        found = chosen.sum()
    return total / found


ORACLES = {"roc_auc": pairs_in_order, "average_precision": mean_precision}


@pytest.mark.parametrize("name", ORACLES)
@given(seed=SEEDS, items=st.integers(2, 20), labels=st.integers(1, 4), ties=st.booleans())
def test_rankings_of_labels_against_counting(name, seed, items, labels, ties):
    outputs, wanted = some("labels", items, labels, seed)
    outputs = outputs.round() if ties else outputs
    expected = []
    for column in range(labels):
        known = ~wanted[:, column].isnan().numpy()
        truth, ranked_by = wanted[:, column].numpy()[known], outputs[:, column].float().numpy()[known]
        if 0 < truth.sum() < len(truth):
            expected.append(ORACLES[name](truth, ranked_by))
    assert score(name, outputs, wanted) == pytest.approx(np.mean(expected) if expected else NAN, nan_ok=True)


@pytest.mark.parametrize("name", ORACLES)
@given(seed=SEEDS, items=st.integers(2, 20), classes=st.integers(2, 4))
def test_rankings_of_classes_are_one_against_the_others(name, seed, items, classes):
    outputs, wanted = some("classification", items, classes, seed)
    share = outputs.softmax(1).numpy()
    asked = (wanted != IGNORED).numpy()
    expected = []
    for c in range(classes) if classes > 2 else (1,):
        truth = (wanted.numpy()[asked] == c).astype(float)
        if 0 < truth.sum() < len(truth):
            expected.append(ORACLES[name](truth, share[asked, c]))
    found = score(name, outputs, wanted, "classification")
    assert found == pytest.approx(np.mean(expected) if expected else NAN, nan_ok=True)


def test_sure_answers_are_still_ranked():
    """Probabilities of 1 would be ties in single precision; log-odds are not."""
    outputs, wanted = torch.tensor([[0.0, 100.0], [0.0, 200.0]]), torch.tensor([0, 1])
    assert score("roc_auc", outputs, wanted, "classification") == 1


@pytest.mark.parametrize("name", ORACLES)
def test_labels_of_a_single_value_are_left_out_without_a_warning(name):
    outputs = torch.tensor([[0.9, 0.1], [0.5, 0.2], [0.3, 0.3]])
    wanted = torch.tensor([[1.0, 1.0], [0.0, 1.0], [1.0, 1.0]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert score(name, outputs, wanted) == score(name, outputs[:, :1], wanted[:, :1])
        assert np.isnan(score(name, outputs[:, 1:], wanted[:, 1:]))


@pytest.mark.parametrize("name", METRICS)
def test_every_metric_has_a_label_that_reports_show(name):
    assert METRICS.label(name)
    assert "_" not in METRICS.label(name)
    assert metric_name(name) == METRICS.label(name)


def test_labels_and_directions():
    labels = {name: METRICS.label(name) for name in ("mae", "rmse", "r2", "average_precision", "roc_auc", "macro_f1")}
    assert labels == {
        "mae": "MAE",
        "rmse": "RMSE",
        "r2": "R²",
        "average_precision": "average precision",
        "roc_auc": "ROC-AUC",
        "macro_f1": "macro F1",
    }
    assert [name for name in METRICS if not METRICS.larger_is_better(name)] == ["mae", "mae_in_hops", "rmse"]


def test_a_metric_of_an_older_study_that_is_not_registered_keeps_its_name():
    assert metric_name("my_old_metric") == "my old metric"


def test_labels_are_read_without_importing_pytorch():
    """Reports of stored studies show them."""
    code = "import sys; from gredkit.registry import METRICS; print(METRICS.label('r2'), 'torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["R²", "False"]
