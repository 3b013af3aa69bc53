import math
from itertools import pairwise

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from gredkit.training import schedule
from gredkit.training.recipe import Recipe
from gredkit.training.schedule import Plateau

STEPS = st.integers(1, 300)
SHARES = st.floats(0, 1)


def factor(step, total, warmup):
    """Of the cosine schedule, the default."""
    return schedule.factor(Recipe(warmup=warmup), step, total)


def test_a_table():
    """Ten steps, three of them rising; the cosines of multiples of a seventh of 180 degrees from a table."""
    cosines = [1, 0.9009688679, 0.6234898019, 0.2225209340, -0.2225209340, -0.6234898019, -0.9009688679]
    expected = [0.25, 0.5, 0.75] + [(1 + c) / 2 for c in cosines]
    assert [factor(step, 10, 0.3) for step in range(10)] == pytest.approx(expected)


def test_halfway_down_without_warm_up():
    assert factor(50, 100, 0.0) == pytest.approx(0.5)
    assert factor(0, 100, 0.0) == 1


@given(STEPS, SHARES)
def test_up_then_down_within_bounds(total, warmup):
    values = [factor(step, total, warmup) for step in range(total)]
    top = values.index(max(values))
    assert all(a < b for a, b in pairwise(values[: top + 1]))
    assert all(a > b for a, b in pairwise(values[top:]))
    assert all(0 < value <= 1 for value in values)
    assert top == min(round(warmup * total), total - 1)


@given(STEPS, SHARES)
def test_it_reaches_one_unless_it_only_rises_and_ends_near_nothing(total, warmup):
    rising = round(warmup * total)
    if rising < total:
        assert factor(rising, total, warmup) == 1
        assert factor(total, total, warmup) == pytest.approx(0, abs=1e-12)
        last = math.sin(math.pi / 2 / (total - rising)) ** 2  # one step before the end
        assert factor(total - 1, total, warmup) == pytest.approx(last)
    else:
        assert factor(total - 1, total, warmup) == total / (total + 1)


@pytest.mark.parametrize("warmup", [0.0, 0.05, 0.5, 1.0])
def test_a_single_step_is_taken(warmup):
    assert factor(0, 1, warmup) >= 0.5


def test_plateau_and_constant_after_the_warm_up():
    plateau = Recipe(schedule="plateau", warmup=0.3, plateau_factor=0.5)
    assert [schedule.factor(plateau, step, 10, reductions=3) for step in range(5)] == [0.25, 0.5, 0.75, 0.125, 0.125]
    constant = Recipe(schedule="constant", warmup=0.3)
    assert [schedule.factor(constant, step, 10) for step in range(5)] == [0.25, 0.5, 0.75, 1, 1]


LOSSES = st.lists(st.sampled_from([2.0, 1.0, 0.99995, 0.5, 0.49, 0.1, math.nan, math.inf]), max_size=30)


@given(LOSSES, st.integers(0, 3))
def test_reductions_are_those_of_pytorch(losses, patience):
    optimiser = torch.optim.SGD([torch.zeros(1)], lr=1.0)
    theirs = torch.optim.lr_scheduler.ReduceLROnPlateau(optimiser, factor=0.5, patience=patience, eps=0)
    ours = Plateau()
    for loss in losses:
        theirs.step(loss)
        ours = ours.after(loss, patience)
        assert 0.5**ours.reductions == optimiser.param_groups[0]["lr"]
