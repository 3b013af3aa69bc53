import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gredkit.training.schedule import factor

STEPS = st.integers(1, 300)
SHARES = st.floats(0, 1)


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
