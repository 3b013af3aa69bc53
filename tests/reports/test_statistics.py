"""Comparisons of a whole study: who is compared with whom, over what, and what is claimed."""

import re

import numpy as np
import pandas as pd
import pytest
from helpers.known_results import COLUMNS, FLAVOURS, Scores, results
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from gredkit.reports.statistics import comparisons, counts, final, leaders
from gredkit.reports.summary import sentences

EMPTY = pd.DataFrame(columns=list(COLUMNS))
SCORE = st.one_of(st.integers(0, 1000).map(lambda part: part / 1000), st.sampled_from(["failed", "diverged"]))
STUDY = st.dictionaries(
    st.tuples(st.sampled_from(["one", "two"]), st.sampled_from("abc")), st.lists(SCORE, min_size=1, max_size=5)
)


def row(frame, dataset, variant):
    return frame[(frame["dataset"] == dataset) & (frame["variant"] == variant)].iloc[0]


def test_every_trial_is_counted():
    found = counts(results(FLAVOURS))
    assert found["trials"].tolist() == [4] * 8
    broken = row(found, "far", "broken")
    assert (broken["finished"], broken["diverged"], broken["failed"], broken["missing"]) == (0, 1, 2, 1)
    assert found.drop(columns=["dataset", "metric", "variant", "trials"]).to_numpy().sum() == 32


def test_a_state_that_reports_do_not_list_and_a_score_that_is_not_finite_are_counted_too():
    frame = results({("one", "a"): [0.5, "elsewhere", float("nan"), float("inf")]})
    found = counts(frame).iloc[0]
    assert (found["trials"], found["finished"], found["unscored"], found["elsewhere"]) == (4, 1, 2, 1)


def test_comparisons_with_the_base():
    found = comparisons(results(FLAVOURS))
    assert list(zip(found["dataset"], found["variant"], strict=True)) == [
        (dataset, variant) for dataset in ("far", "near") for variant in ("lstm", "rnn", "broken")
    ]
    assert set(found["base"]) == {"lru"}
    lstm = row(found, "far", "lstm")
    differences = np.array([0.36, 0.37, 0.38, 0.36]) - np.array([0.95, 0.97, 0.96, 0.94])
    assert lstm["difference"] == pytest.approx(differences.mean())
    assert (lstm["pairs"], lstm["wins"], lstm["ties"], lstm["losses"], lstm["left_out"]) == (4, 0, 0, 4, 0)
    assert lstm["p"] == pytest.approx(stats.ttest_1samp(differences, 0).pvalue)
    assert lstm["p_exact"] == lstm["p_least"] == 0.125
    assert lstm["tests"] == 4
    t = stats.t.interval(1 - 0.05 / 4, 3, differences.mean(), stats.sem(differences))
    assert (lstm["low"], lstm["high"]) == pytest.approx(t)
    assert lstm["holds"]
    assert "an exact test cannot go below 0.12" in lstm["note"]
    assert not row(found, "near", "lstm")["holds"]
    broken = row(found, "far", "broken")
    assert (broken["pairs"], broken["left_out"], broken["holds"]) == (0, 4, False)
    assert np.isnan(broken["difference"])
    assert broken["note"] == "no seed has finished for both"


def test_a_seed_that_one_lacks_is_left_out_and_said():
    rnn = row(comparisons(results(FLAVOURS)), "near", "rnn")
    assert (rnn["pairs"], rnn["left_out"]) == (3, 1)
    assert rnn["difference"] == pytest.approx(np.mean([0.10, 0.12, 0.09]))


def test_a_lead_does_not_hold_if_the_leader_diverged_on_a_seed():
    scores: Scores = {("one", "a"): [0.1, 0.12, 0.11, 0.13], ("one", "b"): [0.9, 0.91, "diverged", 0.92]}
    flattered = comparisons(results(scores)).iloc[0]
    assert flattered["p_corrected"] < 0.01
    assert np.isnan([flattered["low"], flattered["high"]]).all()
    assert (flattered["flattered"], flattered["holds"]) == (True, False)
    assert not leaders(results(scores)).iloc[0]["holds"]
    crashed = results({**scores, ("one", "b"): [0.9, 0.91, "failed", 0.92]})  # says nothing about the variant
    assert comparisons(crashed).iloc[0]["holds"]
    other = results({("one", "a"): scores["one", "b"], ("one", "b"): scores["one", "a"]})
    assert not comparisons(other).iloc[0]["holds"]
    loser = results({**scores, ("one", "a"): [0.1, "diverged", 0.11, 0.13], ("one", "b"): [0.9, 0.91, 0.95, 0.92]})
    assert comparisons(loser).iloc[0]["holds"]


def test_all_comparisons_of_the_study_share_the_level():
    found = comparisons(results(FLAVOURS))
    tested = found[found["p"].notna()]
    assert len(tested) == 4
    assert set(found["tests"]) == {4}
    assert tested["p_corrected"].tolist() == pytest.approx((4 * tested["p"]).clip(upper=1).tolist())


@given(STUDY, st.booleans())
def test_an_interval_excludes_zero_where_the_sentence_says_that_the_difference_holds(scores, clear):
    """Also where one variant is far ahead, so that many differences hold."""
    ahead = {
        key: [s + 5 if clear and key[1] == "b" and not isinstance(s, str) else s for s in scores[key]] for key in scores
    }
    frame = results(ahead)
    found = comparisons(frame)
    said = [told for told in sentences(frame, found) if " between " in told or " beats " in told]
    assert sum(" beats " in told for told in said) == found["holds"].sum()
    for one in found.to_dict("records"):
        excludes = one["low"] > 0 or one["high"] < 0
        assert excludes == one["holds"] or np.isnan([one["low"], one["effect"]]).all()
        if excludes:
            assert one["p_corrected"] <= 0.05 + 1e-9
            assert np.sign(one["low"]) == np.sign(one["high"]) == np.sign(one["difference"])
    for told in said:
        if ends := re.search(r"interval (\S+) to ([\d.e-]+)\)", told):
            low, high = map(float, ends.groups())
            assert (low > 0) == (" beats " in told)
            assert high > 0
    held = leaders(frame).query("holds")
    for leader in held.itertuples():  # a lead that holds over all others holds over the base
        rows = found[found["dataset"] == leader.dataset]
        rows = rows if leader.variant in set(rows["base"]) else rows[rows["variant"] == leader.variant]
        assert rows[rows["p"].notna()]["holds"].all()


def test_with_fewer_than_three_pairs_there_is_no_test():
    found = comparisons(results({("one", "a"): [0.1, 0.2], ("one", "b"): [0.8, 0.9]})).iloc[0]
    assert found["difference"] == pytest.approx(0.7)
    assert found[["low", "high", "effect", "p", "p_exact", "p_corrected"]].isna().all()
    assert not found["holds"]
    assert found["note"] == "fewer than 3 pairs: no test was made"


def test_smaller_errors_are_better():
    scores = {("zinc", "a"): [0.5, 0.6, 0.7], ("zinc", "b"): [0.4, 0.51, 0.58]}
    found = comparisons(results(scores, zinc="mae")).iloc[0]
    assert found["difference"] == pytest.approx(0.31 / 3)
    assert found["wins"] == 3
    assert leaders(results(scores, zinc="mae")).iloc[0]["variant"] == "b"


def test_the_base_of_a_dataset_that_lacks_the_first_variant_is_its_own_first():
    found = comparisons(results({("one", "a"): [0.1], ("two", "b"): [0.2], ("two", "c"): [0.3]}))
    assert found[["dataset", "variant", "base"]].to_numpy().tolist() == [["two", "c", "b"]]


def test_trials_that_only_tune_are_not_compared():
    frame = results({("one", "a"): [0.1, 0.2, 0.3], ("one", "b"): [0.5, 0.6, 0.9]})
    tuning = frame.assign(role="tune", test=0.99)
    pd.testing.assert_frame_equal(comparisons(pd.concat([frame, tuning])), comparisons(frame))
    assert len(final(pd.concat([frame, tuning]))) == 6


def test_who_leads():
    found = leaders(results(FLAVOURS)).set_index("dataset")
    far, near = found.loc["far"], found.loc["near"]
    assert (far["variant"], far["rivals"], far["holds"]) == ("lru", 2, True)  # the broken one is no rival
    lru, *others = (np.array(FLAVOURS["far", variant]) for variant in ("lru", "lstm", "rnn"))
    assert far["p"] == pytest.approx(max(stats.ttest_rel(lru, other).pvalue for other in others))
    assert far["p_corrected"] == pytest.approx(4 * far["p"])  # with two rivals on each dataset
    assert near["variant"] == "rnn"


def test_a_lead_that_cannot_be_tested_does_not_hold():
    scores = {("one", "a"): [0.9, 0.91, 0.92], ("one", "b"): [0.1, 0.11, 0.13], ("one", "c"): [0.1, "failed", "failed"]}
    found = leaders(results(scores)).iloc[0]
    assert (found["variant"], found["rivals"], found["holds"]) == ("a", 2, False)
    assert np.isnan(found["p"])
    alone = leaders(results({("one", "a"): [0.9, 0.91, 0.92]})).iloc[0]
    assert (alone["rivals"], alone["holds"]) == (0, False)


def test_a_lead_that_a_failure_made_does_not_hold():
    """The best mean, since its bad seed diverged; where both finished it is worse."""
    scores = {("one", "a"): [0.9, 0.8, 0.85, "diverged"], ("one", "b"): [0.95, 0.86, 0.91, 0.1]}
    found = leaders(results(scores)).iloc[0]
    assert (found["variant"], found["holds"]) == ("a", False)


@pytest.mark.parametrize("function", [comparisons, counts, leaders])
def test_an_empty_study(function):
    found = function(EMPTY)
    assert found.empty
    assert list(found.columns) == list(function(results(FLAVOURS)).columns)


@settings(max_examples=20, deadline=None)
@given(STUDY, st.randoms())
def test_the_order_of_rows_does_not_matter(scores, random):
    frame = results(scores)
    variants = list(frame["variant"].unique())
    shuffled = frame.sample(frac=1, random_state=random.randrange(99))
    shuffled = shuffled.sort_values("variant", key=lambda names: names.map(variants.index), kind="stable")
    keys = ["dataset", "variant"]
    for function in (comparisons, counts, leaders):
        first, second = (function(one).sort_values(keys).reset_index(drop=True) for one in (frame, shuffled))
        if not frame.empty and all(same_base(one) for one in (frame, shuffled)):
            pd.testing.assert_frame_equal(first, second, check_dtype=False)


def same_base(frame):
    """Whether every dataset has the first variant, so that no other base depends on the order of the rest."""
    first = frame["variant"].iloc[0]
    return frame.groupby("dataset")["variant"].apply(lambda names: first in set(names)).all()


@settings(max_examples=20, deadline=None)
@given(STUDY)
def test_a_failed_trial_more_changes_no_number_but_its_count(scores):
    frame = results(scores)
    more = results({key: [*of_seeds, "failed"] for key, of_seeds in scores.items()})
    same = ["difference", "low", "high", "p", "p_exact", "p_corrected", "effect", "holds", "pairs"]
    pd.testing.assert_frame_equal(comparisons(frame)[same], comparisons(more)[same])
    pd.testing.assert_frame_equal(leaders(frame), leaders(more))
    assert (counts(more)["failed"] == counts(frame)["failed"] + 1).all()


@settings(max_examples=20, deadline=None)
@given(st.lists(st.integers(0, 999), min_size=3, max_size=6), st.lists(st.integers(0, 999), min_size=3, max_size=6))
def test_swapping_the_base_flips_signs(ours, theirs):
    a, b = [score / 1000 for score in ours], [score / 1000 for score in theirs]
    one = comparisons(results({("one", "a"): a, ("one", "b"): b})).iloc[0]
    other = comparisons(results({("one", "b"): b, ("one", "a"): a})).iloc[0]
    assert (one["base"], other["base"]) == ("a", "b")
    assert one["difference"] == pytest.approx(-other["difference"], abs=1e-12)
    assert [one["wins"], one["losses"], one["holds"]] == [other["losses"], other["wins"], other["holds"]]
    assert [one["p"], one["p_exact"]] == pytest.approx([other["p"], other["p_exact"]], nan_ok=True)
