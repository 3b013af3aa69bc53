"""Groups of variants and average ranks, against scipy and Demšar's table."""

from itertools import combinations

import numpy as np
import pytest
from helpers.known_results import results
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from gredkit.registry import FIGURES
from gredkit.reports.ranking import Ranks, cliques, letters, mean_ranks
from gredkit.reports.study import StudyData

PAIRS = st.lists(
    st.tuples(st.sampled_from("abcdef"), st.sampled_from("abcdef")).filter(lambda pair: pair[0] != pair[1])
)
RNG = np.random.default_rng(8)
MADE = {(f"task {task}", name): RNG.normal(size=5).tolist() for task in range(4) for name in "abc"}


@given(PAIRS)
def test_two_share_a_letter_just_if_they_do_not_differ(differ):
    found = letters("abcdef", differ)
    apart = {frozenset(pair) for pair in differ}
    for one in "abcdef":
        for other in "abcdef".replace(one, ""):
            assert bool(set(found[one]) & set(found[other])) == (frozenset((one, other)) not in apart)
    assert found["a"].startswith("a")


def test_after_z_letters_have_numbers_so_that_none_reads_as_two_others():
    names = [f"v{n:02}" for n in range(60)]
    found = letters(names, combinations(names, 2))
    assert len(set(found.values())) == 60
    assert [found[names[n]] for n in (0, 25, 26, 51, 52)] == ["a", "z", "a1", "z1", "a2"]
    chain = letters(names, [pair for pair in combinations(names, 2) if int(pair[1][1:]) - int(pair[0][1:]) > 1])
    assert (chain["v26"], chain["v27"]) == ("za1", "a1b1")  # neighbours share one


def test_ranks_are_those_of_friedman():
    found = mean_ranks(results(MADE, **{"task 0": "mae"}))
    means = np.array([[np.mean(MADE[f"task {task}", name]) for name in "abc"] for task in range(4)])
    means[1:] *= -1  # a smaller error is better
    expected = stats.rankdata(means, axis=1).mean(0)
    assert found.ranks.sort_index().tolist() == pytest.approx(expected.tolist())
    chi, _ = stats.friedmanchisquare(*means.T)
    assert chi == pytest.approx(12 * 4 / (3 * 4) * ((found.ranks - 2) ** 2).sum())


@pytest.mark.parametrize(("variants", "q"), [(3, 2.343), (4, 2.569), (5, 2.728), (10, 3.164)])
def test_the_critical_difference_is_that_of_the_published_table(variants, q):
    """Demšar 2006, table 5a."""
    made = {(f"task {task}", f"v{n}"): [float(n * task)] for task in range(6) for n in range(variants)}
    found = mean_ranks(results(made))
    assert found.critical == pytest.approx(q * np.sqrt(variants * (variants + 1) / 36), rel=1e-3)


def test_bars_join_what_is_close():
    ranks = mean_ranks(results(MADE)).ranks.set_axis([1.0, 2.0, 4.0]).index.to_series()
    assert cliques(Ranks(ranks, 4, 1.5)) == [(1.0, 2.0)]
    assert cliques(Ranks(ranks, 4, 2.5)) == [(1.0, 2.0), (2.0, 4.0)]
    assert cliques(Ranks(ranks, 4, 9.0)) == [(1.0, 4.0)]
    assert cliques(Ranks(ranks, 4, 0.5)) == []


def test_few_datasets_or_variants_have_no_ranks():
    assert mean_ranks(results({key: scores for key, scores in MADE.items() if key[0] < "task 2"})) is None
    assert mean_ranks(results({key: scores for key, scores in MADE.items() if key[1] < "c"})) is None
    gap = results({key: (["failed"] if key == ("task 1", "a") else scores) for key, scores in MADE.items()})
    assert mean_ranks(gap) is None  # two variants are left


@pytest.mark.parametrize("name", ["pairs", "ranks"])
def test_figures_of_all_pairs_are_drawn_on_request(name):
    frame = results(MADE)
    assert FIGURES[name]().draw(StudyData("made", frame)) is None
    assert FIGURES[name]().draw(StudyData("made", frame.assign(compare="all"))) is not None
