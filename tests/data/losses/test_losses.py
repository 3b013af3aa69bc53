import numpy as np
import pytest
import torch
from helpers.answers import NAN, some
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from torch.autograd import gradcheck
from torch.nn import functional as F

from gredkit.data.objectives import IGNORED, KINDS, loss_for
from gredkit.errors import UserError
from gredkit.registry import LOSSES

NUMBERS = st.floats(-100, 100)


PAIRS = [(name, kind) for name in LOSSES for kind in KINDS if LOSSES.fits(name, kind)]


@pytest.mark.parametrize(("name", "kind"), PAIRS)
def test_every_loss_is_a_finite_scalar_with_the_gradient_of_finite_differences(name, kind):
    outputs, targets = some(kind)
    loss = loss_for(kind, name)
    assert loss(outputs, targets).shape == ()
    assert loss(outputs, targets).item() > 0
    assert gradcheck(lambda o: loss(o, targets), (outputs.requires_grad_(),))


@pytest.mark.parametrize(("name", "kind"), PAIRS)
def test_every_loss_falls_when_outputs_come_closer_to_the_truth(name, kind):
    outputs, targets = some(kind)
    if kind == "regression":
        right = targets
    elif kind == "labels":
        right = 10 * (2 * targets.nan_to_num() - 1)
    else:
        right = 10 * F.one_hot(targets.clamp(min=0), 3).double()
    loss = loss_for(kind, name)
    steps = [loss((1 - share) * outputs + share * right, targets).item() for share in (0, 0.3, 0.6, 1)]
    assert steps == sorted(steps, reverse=True)
    assert steps[0] > steps[-1] >= 0


@pytest.mark.parametrize(("name", "kind"), PAIRS)
def test_the_order_of_items_does_not_matter_to_any_loss(name, kind):
    outputs, targets = some(kind)
    order = torch.randperm(len(outputs), generator=torch.Generator().manual_seed(0))
    loss = loss_for(kind, name)
    assert loss(outputs[order], targets[order]).item() == pytest.approx(loss(outputs, targets).item(), rel=1e-12)


@pytest.mark.parametrize(("name", "kind"), [pair for pair in PAIRS if pair[1] != "regression"])
def test_what_is_unknown_or_not_asked_adds_nothing_and_nothing_known_is_zero(name, kind):
    outputs, targets = some(kind)
    nothing = torch.full_like(targets, NAN if kind == "labels" else IGNORED)
    more = torch.cat([outputs, torch.randn_like(outputs)]), torch.cat([targets, nothing])
    loss = loss_for(kind, name)
    assert loss(*more).item() == pytest.approx(loss(outputs, targets).item(), rel=1e-12)
    outputs.requires_grad_()
    loss(outputs, nothing).backward()
    assert loss(outputs, nothing).item() == 0
    assert (outputs.grad == 0).all()


@given(
    errors=arrays.arrays(np.float64, st.tuples(st.integers(1, 6), st.integers(1, 3)), elements=NUMBERS),
    delta=st.floats(0.01, 50),
)
def test_losses_of_numbers_against_numpy(errors, delta):
    e = np.abs(errors)
    expected = {
        "l1": e.mean(),
        "l2": (errors**2).mean(),
        "huber": np.where(e <= delta, e**2 / 2, delta * (e - delta / 2)).mean(),
    }
    for name, value in expected.items():
        loss = loss_for("regression", name, **({"delta": delta} if name == "huber" else {}))
        assert loss(torch.from_numpy(errors), torch.zeros(errors.size)).item() == pytest.approx(value, rel=1e-12)


@pytest.mark.parametrize("delta", [0.0, -1.0, NAN, float("inf")])
def test_a_delta_of_huber_is_checked_when_the_loss_is_made(delta):
    with pytest.raises(UserError, match=r"losses\.huber\.delta is a number above 0, not"):
        loss_for("regression", "huber", delta=delta)


def test_cross_entropy_against_numpy():
    outputs, targets = some("classification")
    logits, asked = outputs.numpy(), (targets != IGNORED).numpy()
    surprise = np.log(np.exp(logits).sum(1)) - logits[np.arange(7), targets.clamp(min=0).numpy()]
    expected = surprise[asked].mean()
    assert loss_for("classification", "cross_entropy")(outputs, targets).item() == pytest.approx(expected, rel=1e-12)
    share = np.array([(targets.numpy()[asked] != c).mean() for c in range(3)])
    weight = share[targets.numpy()[asked]]
    expected = (weight * surprise[asked]).sum() / weight.sum()
    balanced = loss_for("balanced_classification", "balanced_cross_entropy")
    assert balanced(outputs, targets).item() == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("name", ["cross_entropy", "balanced_cross_entropy"])
def test_a_batch_of_a_single_class_is_plain_cross_entropy(name):
    outputs, targets = torch.randn(3, 2), torch.tensor([1, 1, IGNORED])
    expected = F.cross_entropy(outputs[:2], targets[:2]).item()
    assert loss_for("classification", name)(outputs, targets).item() == pytest.approx(expected)


def test_binary_cross_entropy_label_by_label():
    outputs = torch.randn(3, 2)
    targets = torch.tensor([[1.0, 0.0], [NAN, 1.0], [0.0, NAN]])
    known = [(0, 0), (0, 1), (1, 1), (2, 0)]
    one_by_one = [F.binary_cross_entropy_with_logits(outputs[i, j], targets[i, j]) for i, j in known]
    found = loss_for("labels", "binary_cross_entropy")(outputs, targets)
    assert found.item() == pytest.approx(float(sum(one_by_one) / 4), rel=1e-6)
