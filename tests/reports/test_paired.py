"""The numbers of a comparison against independent ones: scipy's, and those worked out by hand."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from gredkit.reports.paired import hedges, interval, paired, sign_flip, unflipped

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


@pytest.mark.parametrize("comparisons", [1, 2, 9])
@pytest.mark.parametrize("differences", SAMPLES)
def test_the_interval_is_that_of_t_or_wider_where_the_exact_test_contradicts(differences, comparisons):
    n = len(differences)
    low, high = interval(differences, comparisons)
    t_low, t_high = stats.t.interval(1 - 0.05 / comparisons, n - 1, differences.mean(), stats.sem(differences))
    assert low <= t_low + 1e-12
    assert high >= t_high - 1e-12
    if n < 5 or (n == 5 and comparisons > 3):  # then t is beyond n - 1, which no seed that disagrees can reach
        assert (low, high) == pytest.approx((t_low, t_high))


@pytest.mark.parametrize("n", [3, 5, 6, 8, 17])
def test_the_ends_are_where_the_exact_test_changes_its_mind(n):
    differences = RNG.normal(0.4, 1, n)
    level = max(0.05, 2.0 ** (1 - n))
    for end, inwards in zip(unflipped(differences), (1, -1), strict=True):
        assert sign_flip(differences - end - inwards * 1e-6) > level
        assert sign_flip(differences - end + inwards * 1e-6) <= level


@pytest.mark.parametrize(("n", "comparisons"), [(3, 1), (3, 4), (5, 1), (5, 4), (5, 9), (8, 4)])
def test_all_intervals_of_a_study_cover_the_true_differences_at_once(n, comparisons):
    """Scores of normal seeds, every variant against the same base."""
    rng, draws = np.random.default_rng(17), 2000
    true = np.linspace(0, 2, comparisons)
    base = rng.normal(0, 1, (draws, 1, n))
    samples = true[:, None] + rng.normal(0, 1, (draws, comparisons, n)) - base
    covered = 0
    for study in samples:
        ends = [interval(differences, comparisons) for differences in study]
        covered += all(low <= mean <= high for (low, high), mean in zip(ends, true, strict=True))
    assert covered / draws >= 0.94


def test_many_pairs_are_flipped_at_random_and_never_give_zero():
    differences = RNG.normal(0.2, 1, 30)
    assert sign_flip(differences) == pytest.approx(stats.ttest_1samp(differences, 0).pvalue, abs=0.02)
    assert sign_flip(np.ones(40)) == 1 / 2**14
    assert sign_flip(differences) == sign_flip(differences)


def test_equal_differences_are_no_proof():
    """A t test would say p = 0."""
    found = paired(np.array([0.9, 0.8, 0.7]), np.array([0.8, 0.7, 0.6]))
    assert (found.wins, found.p, found.p_exact) == (3, 0.25, 0.25)
    assert found.difference == pytest.approx(0.1)
    assert np.isnan([found.effect, *found.interval()]).all()
    same = paired(np.array([0.9, 0.8, 0.7]), np.array([0.9, 0.8, 0.7]))
    assert (same.ties, same.difference, same.p) == (3, 0, 1)


def test_rounding_is_a_tie_and_opposite_differences_are_zero_on_average():
    found = paired(np.array([0.1 + 0.2, 0.6, 0.4]), np.array([0.3, 0.5, 0.5]))
    assert (found.wins, found.ties, found.losses, found.difference) == (1, 1, 1, 0.0)


def test_only_what_both_have_is_compared():
    found = paired(np.array([0.9, np.nan, 0.7, 0.8, np.inf]), np.array([0.8, 0.7, 0.5, np.nan, 0.1]))
    assert (found.pairs, found.wins, found.difference) == (2, 2, pytest.approx(0.15))
    assert np.isnan([found.p, found.p_exact, found.p_least, *found.interval(), found.effect]).all()
    assert not found.is_supported
    assert paired(np.array([np.nan]), np.array([1.0])).pairs == 0


def test_a_seed_that_disagrees_is_a_contradiction_with_few_seeds():
    """By t it is p = 0.02 for five; the exact test could have reached 0.06 and did not."""
    differences = np.array([0.5, 0.5, 0.5, 0.52, -0.01])
    assert paired(differences, np.zeros(5)).p < 0.05
    assert not paired(differences, np.zeros(5)).is_supported
    assert paired(differences, np.zeros(5)).interval()[0] == pytest.approx(-0.01)
    assert paired(np.abs(differences), np.zeros(5)).is_supported


@given(SCORES, st.booleans(), st.randoms())
def test_swapping_flips_signs_and_order_does_not_matter(scores, larger, random):
    ours, theirs = np.array(scores, float).T / 1000
    found, swapped = paired(ours, theirs, larger), paired(theirs, ours, larger)
    assert (found.wins, found.ties, found.losses) == (swapped.losses, swapped.ties, swapped.wins)
    signed = [found.difference, *found.interval(), found.effect]
    flipped = [-swapped.difference, *(-end for end in reversed(swapped.interval())), -swapped.effect]
    assert signed == pytest.approx(flipped, nan_ok=True, abs=1e-12)
    assert [found.p, found.p_exact] == pytest.approx([swapped.p, swapped.p_exact])
    order = random.sample(range(len(ours)), len(ours))
    again = paired(ours[order], theirs[order], larger)
    assert [again.difference, again.p, again.p_exact] == pytest.approx([found.difference, found.p, found.p_exact])
