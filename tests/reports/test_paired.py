"""The numbers of a comparison against independent ones: scipy's, and those worked out by hand."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from gredkit.reports.paired import hedges, holm, interval, paired, sign_flip

RNG = np.random.default_rng(3)
SAMPLES = [RNG.normal(shift, 1, n) for n in (3, 4, 5, 7, 10) for shift in (0, 1, 5)]
SCORES = st.lists(st.tuples(st.integers(0, 1000), st.integers(0, 1000)), min_size=3, max_size=8)


@pytest.mark.parametrize("differences", SAMPLES)
def test_against_scipy(differences):
    found = paired(differences + 7, np.full(len(differences), 7.0))
    assert found.p == pytest.approx(stats.ttest_1samp(differences, 0).pvalue)
    exact = stats.permutation_test((differences,), np.mean, permutation_type="samples", n_resamples=math.inf)
    assert found.p_exact == pytest.approx(exact.pvalue)
    assert found.p_least == 2 / 2 ** len(differences)
    cohen = differences.mean() / differences.std(ddof=1)
    assert abs(found.effect) < abs(cohen)
    approximation = 1 - 3 / (4 * (len(differences) - 1) - 1)
    assert found.effect == pytest.approx(cohen * approximation, rel=0.015)


def test_equal_ranks_give_the_exact_test_of_wilcoxon():
    """With the differences 1 to n the sum of ranks is the sum of differences."""
    differences = np.array([1.0, -2.0, 3.0, 4.0, 5.0, 6.0])
    assert sign_flip(differences) == pytest.approx(stats.wilcoxon(differences, method="exact").pvalue)


def test_the_correction_of_hedges_by_its_definition():
    assert hedges(2) == pytest.approx(1 / math.sqrt(math.pi))
    assert hedges(4) == pytest.approx(math.gamma(2) / (math.sqrt(2) * math.gamma(1.5)))


def test_the_interval_of_three_is_their_range_and_never_leaves_it():
    assert interval(np.array([0.2, 0.1, 0.4])) == pytest.approx((0.1, 0.4))
    for differences in SAMPLES:
        low, high = interval(differences)
        assert differences.min() - 1e-9 <= low <= differences.mean() <= high <= differences.max() + 1e-9


def test_the_interval_of_many_is_that_of_scipy_and_of_t():
    differences = RNG.normal(0.3, 1, 200)
    usual = stats.bootstrap((differences,), np.mean, method="percentile", rng=np.random.default_rng(1))
    assert interval(differences) == pytest.approx(tuple(usual.confidence_interval), abs=0.02)
    t = stats.t.interval(0.95, 199, differences.mean(), stats.sem(differences))
    assert interval(differences) == pytest.approx(t, abs=0.02)


@pytest.mark.parametrize("n", [3, 4, 5, 8])
def test_no_interval_covers_more_than_the_docstring_says(n):
    samples = RNG.normal(0, 1, (400, n))
    covered = np.mean([low <= 0 <= high for low, high in map(interval, samples)])
    most = 1 - 2.0 ** (1 - n)
    assert min(most, 0.95) - 0.08 < covered < most + 3 * math.sqrt(most * (1 - most) / 400)


def test_many_pairs_are_flipped_at_random_and_never_give_zero():
    differences = RNG.normal(0.2, 1, 30)
    assert sign_flip(differences) == pytest.approx(stats.ttest_1samp(differences, 0).pvalue, abs=0.02)
    assert sign_flip(np.ones(40)) == 1 / 2**14
    assert sign_flip(differences) == sign_flip(differences)


def test_holm_by_hand():
    nan = np.nan
    assert holm(np.array([0.01, 0.04, 0.03, 0.005])) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm(np.array([0.04, nan, 0.01])) == pytest.approx([0.04, nan, 0.02], nan_ok=True)
    assert holm(np.array([0.6, 0.9])) == pytest.approx([1.0, 1.0])
    assert holm(np.array([0.03, 0.03])) == pytest.approx([0.06, 0.06])
    assert holm(np.array([])).shape == (0,)


def test_equal_differences_are_no_proof():
    """A t test would say p = 0."""
    found = paired(np.array([0.9, 0.8, 0.7]), np.array([0.8, 0.7, 0.6]))
    assert (found.wins, found.p, found.p_exact) == (3, 0.25, 0.25)
    assert found.difference == pytest.approx(0.1)
    assert np.isnan([found.effect, found.low, found.high]).all()
    same = paired(np.array([0.9, 0.8, 0.7]), np.array([0.9, 0.8, 0.7]))
    assert (same.ties, same.difference, same.p) == (3, 0, 1)


def test_rounding_is_a_tie_and_opposite_differences_are_zero_on_average():
    found = paired(np.array([0.1 + 0.2, 0.6, 0.4]), np.array([0.3, 0.5, 0.5]))
    assert (found.wins, found.ties, found.losses, found.difference) == (1, 1, 1, 0.0)


def test_only_what_both_have_is_compared():
    found = paired(np.array([0.9, np.nan, 0.7, 0.8, np.inf]), np.array([0.8, 0.7, 0.5, np.nan, 0.1]))
    assert (found.pairs, found.wins, found.difference) == (2, 2, pytest.approx(0.15))
    assert np.isnan([found.p, found.p_exact, found.p_least, found.low, found.high, found.effect]).all()
    assert not found.is_supported
    assert paired(np.array([np.nan]), np.array([1.0])).pairs == 0


def test_a_seed_that_disagrees_is_a_contradiction_with_few_seeds():
    """By t it is p = 0.02 for five; the exact test could have reached 0.06 and did not."""
    differences = np.array([0.5, 0.5, 0.5, 0.52, -0.01])
    assert paired(differences, np.zeros(5)).p < 0.05
    assert not paired(differences, np.zeros(5)).is_supported
    assert paired(np.abs(differences), np.zeros(5)).is_supported


@settings(max_examples=50, deadline=None)
@given(SCORES, st.booleans(), st.randoms())
def test_swapping_flips_signs_and_order_does_not_matter(scores, larger, random):
    ours, theirs = np.array(scores, float).T / 1000
    found, swapped = paired(ours, theirs, larger), paired(theirs, ours, larger)
    assert (found.wins, found.ties, found.losses) == (swapped.losses, swapped.ties, swapped.wins)
    signed = [found.difference, found.low, found.high, found.effect]
    flipped = [-swapped.difference, -swapped.high, -swapped.low, -swapped.effect]
    assert signed == pytest.approx(flipped, nan_ok=True, abs=1e-12)
    assert [found.p, found.p_exact] == pytest.approx([swapped.p, swapped.p_exact])
    order = random.sample(range(len(ours)), len(ours))
    again = paired(ours[order], theirs[order], larger)
    assert [again.difference, again.p, again.p_exact] == pytest.approx([found.difference, found.p, found.p_exact])
