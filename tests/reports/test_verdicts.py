"""Which look decides, and that all looks and comparisons together are rarely wrong."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gredkit.bench.decisions import LOOKS, MARGIN, SCORES, simulated
from gredkit.reports.samples import Method, Samples
from gredkit.reports.verdicts import ENOUGH, Look, Verdict, decided, shares

DRAWS = st.integers(0, 10**6)


def looks(seed, shift=0.0, numbers=LOOKS, method=Method.WELCH):
    ours, theirs = np.random.default_rng(seed).normal(size=(2, numbers[-1]))
    parts = zip(numbers, shares(numbers), strict=True)
    return [Look(Samples(method, ours[:n] + shift, theirs[:n]), n, share) for n, share in parts]


@given(st.lists(st.integers(1, 50), min_size=1, max_size=30, unique=True).map(sorted))
def test_looks_spend_no_more_than_there_is_and_later_ones_change_nothing(numbers):
    spent = shares(numbers)
    assert all(share > 0 for share in spent)
    assert sum(spent) < 1
    assert spent == shares([*numbers, 51])[:-1]


@given(DRAWS, st.floats(-4, 4), st.floats(0, 5), st.integers(1, 12), st.sampled_from([Method.WELCH, Method.PAIRED]))
def test_intervals_say_what_the_verdict_says(seed, shift, margin, comparisons, method):
    made = looks(seed, shift, method=method)
    found = decided(made, comparisons, margin)
    excludes = found.low > 0 or found.high < 0
    within = -margin < found.equivalence_low and found.equivalence_high < margin
    assert excludes == (found.verdict == Verdict.DIFFERENT)
    assert (within and not excludes and found.look.seeds >= ENOUGH) == (found.verdict == Verdict.EQUIVALENT)
    assert excludes == (found.look.samples.p <= 0.05 * found.look.share / comparisons)
    assert within == (found.look.samples.p_equivalence(margin) < 0.05 * found.look.share / comparisons)
    assert (found.p * comparisons <= 0.05) == excludes
    before = [decided(made[:n], comparisons, margin) for n in (1, 2, 3)]
    first = next((one for one in before if one.verdict.is_decided), before[-1])
    assert first == found  # later looks do not change it


@given(DRAWS, st.floats(-4, 4))
def test_with_one_comparison_less_nothing_that_was_decided_becomes_open(seed, shift):
    made = looks(seed, shift)
    if decided(made, 5, 0.5).verdict == Verdict.DIFFERENT:
        assert decided(made, 4, 0.0).verdict == Verdict.DIFFERENT


def test_few_seeds_suggest_at_most_and_an_unfinished_round_decides_nothing():
    ahead = [Look(Samples(Method.WELCH, np.arange(n) + 1000.0, np.arange(float(n))), 0) for n in (2, 3, 4, 5)]
    assert [decided([look], 1, 0.1).verdict for look in ahead] == ["untested", "suggested", "suggested", "different"]
    unfinished = Look(ahead[-1].samples, 0, is_complete=False)
    assert decided([unfinished], 1, 0.1).verdict == Verdict.SUGGESTED
    few, same = (Look(Samples(Method.WELCH, np.arange(n), np.arange(n)), 0) for n in (ENOUGH - 1.0, float(ENOUGH)))
    assert decided([few], 1, 100.0).verdict == Verdict.OPEN
    assert decided([same], 1, 100.0).verdict == Verdict.EQUIVALENT
    assert decided([Look(same.samples, 0, flattered=True)], 1, 100.0).verdict == Verdict.OPEN
    assert decided([Look(same.samples, 0, diverged=True)], 1, 100.0).verdict == Verdict.OPEN  # whoever is ahead
    assert decided([Look(ahead[-1].samples, 0, diverged=True)], 1, 0.1).verdict == Verdict.DIFFERENT
    assert decided([Look(None, 0)], 1, 1.0).verdict == Verdict.UNTESTED


@pytest.mark.parametrize("scores", SCORES)
def test_reports_are_wrong_in_at_most_one_of_twenty_studies(scores, is_long):
    """Of nine comparisons at up to three looks; for most kinds of scores in fewer."""
    studies = 4000 if is_long else 400
    assert simulated(SCORES[scores], LOOKS, studies, 0.0, 0.0, Verdict.DIFFERENT)[0] <= 0.05
    assert simulated(SCORES[scores], LOOKS, studies // 4, MARGIN, MARGIN, Verdict.EQUIVALENT)[0] <= 0.05


def test_looking_three_times_finds_what_ten_fixed_seeds_find():
    many, found, seeds = simulated(SCORES["normal"], LOOKS, 50, 4.0, 0.0, Verdict.DIFFERENT)
    assert many == 1.0
    assert found > 0.95
    assert seeds < 8
    assert simulated(SCORES["normal"], (3,), 50, 4.0, 0.0, Verdict.DIFFERENT)[1] < 0.3
