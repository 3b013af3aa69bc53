"""The numbers of a comparison against independent ones: scipy's, statsmodels', simulated ones, and by hand."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.power import TTestIndPower, TTestPower
from statsmodels.stats.proportion import proportion_confint
from statsmodels.stats.weightstats import CompareMeans, DescrStatsW, ttost_paired

from gredkit.reports.power import about, power_of_difference, power_of_equivalence, seeds_needed
from gredkit.reports.samples import Method, Samples, hedges

RNG = np.random.default_rng(3)
SIZES = [(3, 3), (5, 5), (5, 12), (12, 12)]
DRAWN = [(RNG.normal(shift, spread, m), RNG.normal(0, 1, n)) for m, n in SIZES for shift, spread in [(0, 1), (2, 4)]]
NUMBERS = st.lists(st.integers(0, 1000).map(lambda part: part / 1000), min_size=3, max_size=8)


def welch(ours, theirs):
    """Statistic, standard error and degrees of freedom of scipy, with the degree less that we take."""
    found = stats.ttest_ind(ours, theirs, equal_var=False)
    low, high = found.confidence_interval(0.95)
    error = (high - low) / 2 / stats.t.ppf(0.975, found.df)
    return found.statistic, error, max(found.df - 1, min(len(ours), len(theirs)) - 1)


@pytest.mark.parametrize(("ours", "theirs"), DRAWN)
def test_welch_against_scipy(ours, theirs):
    samples = Samples(Method.WELCH, ours, theirs)
    statistic, error, freedom = welch(ours, theirs)
    assert (samples.error, samples.freedom) == pytest.approx((error, freedom))
    assert samples.difference / samples.error == pytest.approx(statistic)
    assert samples.p == pytest.approx(2 * stats.t.sf(abs(statistic), freedom))
    assert samples.p >= stats.ttest_ind(ours, theirs, equal_var=False).pvalue
    assert samples.interval(0.01) == pytest.approx(stats.t.interval(0.99, freedom, samples.difference, error))


@pytest.mark.parametrize(("ours", "theirs"), [pair for pair in DRAWN if len(pair[0]) == len(pair[1])])
def test_paired_against_scipy_and_statsmodels(ours, theirs):
    samples = Samples(Method.PAIRED, ours, theirs)
    found = stats.ttest_rel(ours, theirs)
    assert samples.p == pytest.approx(found.pvalue)
    assert samples.interval(0.05) == pytest.approx(tuple(found.confidence_interval(0.95)))
    assert samples.p_equivalence(0.7) == pytest.approx(ttost_paired(ours, theirs, -0.7, 0.7)[0])


@pytest.mark.parametrize("margin", [0.3, 2.0])
@pytest.mark.parametrize(("ours", "theirs"), DRAWN)
def test_equivalence_is_shown_where_the_interval_lies_within_the_margin(ours, theirs, margin):
    samples = Samples(Method.WELCH, ours, theirs)
    low, high = samples.interval(0.1)
    assert (samples.p_equivalence(margin) < 0.05) == (-margin < low and high < margin)
    tost = CompareMeans(DescrStatsW(ours), DescrStatsW(theirs)).ttost_ind(-margin, margin, usevar="unequal")[0]
    statistic = stats.t.isf(tost, stats.ttest_ind(ours, theirs, equal_var=False).df)  # statsmodels', with its freedom
    assert samples.p_equivalence(margin) == pytest.approx(stats.t.sf(statistic, samples.freedom))


def test_folds_have_the_variance_of_nadeau_and_bengio():
    ours, theirs = RNG.normal(0.5, 1, 10), RNG.normal(0, 1, 10)
    differences = ours - theirs
    statistic = differences.mean() / math.sqrt((1 / 10 + 1 / 9) * differences.var(ddof=1))
    samples = Samples(Method.FOLDS, ours, theirs, test_share=1 / 9)
    assert samples.p == pytest.approx(2 * stats.t.sf(abs(statistic), 9))
    assert samples.p > stats.ttest_rel(ours, theirs).pvalue


def test_the_correction_of_hedges_by_its_definition():
    assert hedges(2) == pytest.approx(1 / math.sqrt(math.pi))
    assert hedges(4) == pytest.approx(math.gamma(2) / (math.sqrt(2) * math.gamma(1.5)))


def test_how_often_one_beats_the_other():
    ours, theirs = np.array([0.9, 0.8, 0.7, 0.6]), np.array([0.5, 0.8, 0.9, 0.1])
    share, low, high = Samples(Method.WELCH, ours, theirs).wins()
    assert share == stats.mannwhitneyu(ours, theirs).statistic / 16
    assert 0 < low < share < high < 1
    share, *ends = Samples(Method.PAIRED, ours, theirs).wins()
    assert share == (1 + 0.5 + 0 + 1) / 4
    assert ends == pytest.approx(proportion_confint(2.5, 4, method="wilson"))
    assert Samples(Method.WELCH, ours + 1, theirs).wins()[0::2] == (1.0, 1.0)
    assert 0.4 < Samples(Method.WELCH, ours + 1, theirs).wins()[1] < 0.8


@pytest.mark.parametrize(("true", "n"), [(0.5, 5), (0.9, 5), (0.76, 12)])
def test_the_interval_of_how_often_covers_the_truth(true, n):
    shift = math.sqrt(2) * stats.norm.ppf(true)
    rng, covered = np.random.default_rng(5), []
    for _ in range(300):
        _, low, high = Samples(Method.WELCH, rng.normal(shift, 1, n), rng.normal(0, 1, n)).wins()
        covered.append(low <= true <= high)
    assert np.mean(covered) > 0.92


def test_power_against_statsmodels():
    for shift, freedom, level in [(2.0, 8.0, 0.05), (3.5, 22.0, 0.005), (0.3, 4.0, 0.01)]:
        expected = TTestPower().power(shift, 1, level, df=freedom)
        assert power_of_difference(shift, freedom, level) == pytest.approx(expected, abs=1e-9)
    assert power_of_difference(60.0, 999.0, 0.01) == 1.0


def test_the_power_of_equivalence_is_that_of_a_simulation():
    rng, margin, n = np.random.default_rng(1), 1.5, 12
    draws = rng.normal(0.2, 1, (4000, n))
    ends = stats.t.interval(0.9, n - 1, draws.mean(1), stats.sem(draws, axis=1))
    simulated = ((ends[0] > -margin / 2) & (ends[1] < margin / 2)).mean()
    error = 1 / math.sqrt(n)
    assert power_of_equivalence(0.2 / error, margin / 2 / error, n - 1.0, 0.05) == pytest.approx(simulated, abs=0.03)


def test_seeds_that_would_decide_against_statsmodels():
    ours, theirs = np.array([0.0, 1.0, 2.0, 3.0, 4.0]) + 1, np.array([0.0, 1.0, 2.0, 3.0, 4.0])
    found = seeds_needed(Samples(Method.WELCH, ours, theirs), 0.05, 0.0, 5, 5)
    expected = TTestIndPower().solve_power(1 / np.std(theirs, ddof=1), alpha=0.05, power=0.8)
    assert found in (math.ceil(expected), math.ceil(expected) + 1)  # one degree of freedom less
    paired = Samples(Method.PAIRED, ours + np.array([1, -1, 1, -1, 0]), theirs)
    expected = TTestPower().solve_power(1.0, alpha=0.01, power=0.8)
    assert seeds_needed(paired, 0.01, 0.0, 5, 5) == math.ceil(expected)
    assert math.isinf(seeds_needed(Samples(Method.WELCH, theirs, theirs), 0.05, 1e-6, 5, 5))
    assert math.isnan(seeds_needed(Samples(Method.FOLDS, ours, theirs, 0.1), 0.05, 0.1, 5, 5))
    equal = Samples(Method.WELCH, theirs, theirs)
    assert math.isinf(seeds_needed(equal, 0.05, math.nan, 5, 5))  # the base has no score
    assert seeds_needed(equal, 0.05, 2.0, 5, 5) < 100  # to show that they are equivalent


def test_rounding_is_no_difference_and_no_spread():
    samples = Samples(Method.PAIRED, np.array([0.1 + 0.2, 0.6, 0.4]), np.array([0.3, 0.6, 0.4]))
    assert (samples.difference, samples.error) == (0.0, 0.0)
    assert samples.interval(0.05) == (0.0, 0.0)
    assert math.isnan(samples.p)
    assert samples.wins()[0] == 0.5


@given(NUMBERS, NUMBERS, st.booleans())
def test_swapping_flips_signs_and_units_do_not_matter(ours, theirs, is_paired):
    n = min(len(ours), len(theirs)) if is_paired else None
    a, b = np.array(ours[:n]), np.array(theirs[:n])
    method = Method.PAIRED if is_paired else Method.WELCH
    found, swapped, scaled = Samples(method, a, b), Samples(method, b, a), Samples(method, 7 * a, 7 * b)
    low, high = found.interval(0.05)
    assert (low, high) == pytest.approx(tuple(-end for end in reversed(swapped.interval(0.05))), abs=1e-12)
    assert (7 * low, 7 * high) == pytest.approx(scaled.interval(0.05), abs=1e-9)
    assert found.p == pytest.approx(swapped.p, nan_ok=True)
    assert found.p == pytest.approx(scaled.p, nan_ok=True, abs=1e-9)
    share, *ends = found.wins()
    assert (share, *ends) == pytest.approx(
        [1 - x for x in (swapped.wins()[0], *reversed(swapped.wins()[1:]))], abs=1e-6
    )
    assert 0 <= ends[0] <= share + 1e-12
    assert share - 1e-12 <= ends[1] <= 1


def test_over_folds_wins_have_no_interval():
    share, *ends = Samples(Method.FOLDS, np.arange(5.0), np.array([0.5, 0.5, 2.5, 2.5, 2.5]), 0.25).wins()
    assert share == 0.6
    assert np.isnan(ends).all()


@pytest.mark.parametrize(
    ("needed", "said"),
    [(7.0, "7"), (20.0, "20"), (21.0, "about 30"), (100.0, "about 100"), (101.0, "more than 100"),
     (math.inf, "more than 100")],
)  # fmt: skip
def test_numbers_of_seeds_are_said_as_estimates(needed, said):
    assert about(needed) == said
