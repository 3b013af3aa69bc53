"""Comparisons of a whole study: who is compared with whom, over what, and what is claimed."""

import re

import numpy as np
import pandas as pd
import pytest
from helpers.known_results import COLUMNS, DECIDED, FLAVOURS, Scores, results
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.multitest import multipletests

from gredkit.reports.statistics import all_pairs, comparisons, counts, final, leaders, undecided
from gredkit.reports.summary import sentences

RNG = np.random.default_rng(6)
EMPTY = pd.DataFrame(columns=list(COLUMNS))
SCORE = st.one_of(st.integers(0, 1000).map(lambda part: part / 1000), st.sampled_from(["failed", "diverged"]))
STUDY = st.dictionaries(
    st.tuples(st.sampled_from(["one", "two"]), st.sampled_from("abc")), st.lists(SCORE, min_size=1, max_size=6)
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
    assert set(found["tests"]) == {6}  # what was asked for, whatever became of it
    lstm = row(found, "far", "lstm")
    differences = np.array([0.36, 0.37, 0.38, 0.36]) - np.array([0.95, 0.97, 0.96, 0.94])
    assert lstm["difference"] == pytest.approx(differences.mean())
    assert (lstm["pairs"], lstm["wins"], lstm["ties"], lstm["losses"], lstm["left_out"]) == (4, 0, 0, 4, 0)
    assert lstm["p"] == pytest.approx(stats.ttest_1samp(differences, 0).pvalue)
    for level, ends in ((0.05, ("low", "high")), (0.1, ("equivalence_low", "equivalence_high"))):
        t = stats.t.interval(1 - level / 6, 3, differences.mean(), stats.sem(differences))
        assert tuple(lstm[list(ends)]) == pytest.approx(t)
    assert (lstm["verdict"], lstm["holds"], lstm["look"], lstm["seeds_needed"]) == ("suggested", False, 0, 5)
    assert lstm["note"] == "fewer than 5 seeds: nothing is decided"
    broken = row(found, "far", "broken")
    assert (broken["pairs"], broken["left_out"], broken["verdict"]) == (0, 4, "untested")
    assert np.isnan(broken["difference"])
    assert broken["note"] == "one of the two has no score"


def test_variants_of_one_architecture_are_compared_seed_by_seed_and_others_after_welch():
    scores = {("one", name): RNG.normal(size=6).tolist() for name in ("K=1", "K=2", "gru", "wider")}
    frame = results(scores)
    frame["setting:encoder"] = frame["variant"].map({"gru": "gru"}).fillna("lru")
    frame["parameters"] += frame["variant"].eq("wider")
    found = comparisons(frame).set_index("variant")
    assert found["method"].to_dict() == {"K=2": "paired t", "gru": "Welch t", "wider": "Welch t"}
    ours, base = scores["one", "gru"], scores["one", "K=1"]
    welch = stats.ttest_ind(ours, base, equal_var=False)
    assert found.loc["gru", "p"] == pytest.approx(2 * stats.t.sf(abs(welch.statistic), max(welch.df - 1, 5)))
    assert found.loc["K=2", "p"] == pytest.approx(stats.ttest_rel(scores["one", "K=2"], base).pvalue)
    shorter = comparisons(frame.drop(frame.index[-1])).set_index("variant").loc["wider"]  # the base keeps its six
    assert (shorter["n"], shorter["left_out"]) == (5, 0)
    axes = frame.drop(columns="setting:encoder").assign(**{"axis:variant.encoder": frame["setting:encoder"]})
    assert comparisons(axes)["method"].tolist() == found["method"].tolist()


def test_margins_are_a_share_of_the_range_or_of_the_first_mean_of_the_base_or_what_the_study_sets():
    scores = {("zinc", "a"): [0.4] * 5 + [9.0] * 3, ("zinc", "b"): [0.3] * 8, ("far", "a"): [0.5], ("far", "b"): [0.6]}
    frame = results(scores, zinc="mae").assign(looks="5,8")
    assert comparisons(frame)["margin"].tolist() == pytest.approx([0.004, 0.01])
    assert comparisons(frame.assign(margin=0.2))["margin"].tolist() == [0.2, 0.2]


def test_folds_are_averaged_over_seeds_and_compared_with_the_correction():
    rng, rows = np.random.default_rng(2), []
    for fold in range(6):
        made = results({("nci1", name): rng.normal(fold, 1, 3).tolist() for name in "ab"})
        rows.append(made.assign(replicate=f"FOLD={fold}", test_share=1 / 8))
    frame = pd.concat(rows)
    found = comparisons(frame).iloc[0]
    means = frame.groupby(["replicate", "variant"])["test"].mean().unstack()
    gains = means["b"] - means["a"]
    statistic = gains.mean() / np.sqrt((1 / 6 + 1 / 8) * gains.var())
    assert (found["method"], found["n"], found["pairs"]) == ("paired t, Nadeau-Bengio", 6, 18)
    assert found["p"] == pytest.approx(2 * stats.t.sf(abs(statistic), 5))
    assert "over 6 folds" in sentences(frame, comparisons(frame))[1] or "6 folds cannot" in " ".join(
        sentences(frame, comparisons(frame))
    )
    unknown = comparisons(frame.drop(columns="test_share")).iloc[0]
    assert unknown["p"] == pytest.approx(2 * stats.t.sf(abs(gains.mean() / np.sqrt((1 / 6 + 1 / 5) * gains.var())), 5))


@pytest.fixture
def rounds():
    """far: decided at 5 seeds; near: open at 5 and trained on; b is equal to a on both tasks."""
    rng = np.random.default_rng(4)
    noise = {key: rng.normal(0, 0.02, 12).tolist() for key in [(t, v) for t in ("far", "near") for v in "abc"]}
    shift = {("far", "c"): 0.5, ("near", "c"): 0.03}
    return {key: [shift.get(key, 0) + 0.5 + one for one in values] for key, values in noise.items()}


def of_look(rounds, **seeds):
    made = {key: values[: seeds.get(f"{key[0]}_{key[1]}", seeds["every"])] for key, values in rounds.items()}
    return results(made)


def test_only_open_comparisons_and_their_bases_are_trained_on(rounds):
    first = of_look(rounds, every=5)
    found = comparisons(first.assign(looks="5,8,12"))
    open_ones = found[found["verdict"] == "open"]
    assert row(found, "far", "c")["verdict"] == "different"
    assert undecided(first, (5, 8, 12)) == {
        (one.dataset, name) for one in open_ones.itertuples() for name in (one.variant, "a")
    }
    assert ("far", "c") not in undecided(first, (5, 8, 12))
    assert undecided(first, (5,)) == set()  # there is no further look
    assert undecided(results({("far", "a"): ["failed"] * 5, ("far", "b"): [0.5] * 5}), (5, 8)) == set()


@pytest.mark.parametrize("scores", [[0.5, *["failed"] * 4], ["failed", 0.5, "failed", 0.6, "diverged"]])
def test_one_or_two_scores_are_no_reason_to_stop(scores):
    """A variant whose other seeds failed may have enough scores after more seeds, and so may a base."""
    whole = [0.5, 0.7, 0.6, 0.4, 0.55]
    for base, other in ((whole, scores), (scores, whole)):
        frame = results({("far", "a"): base, ("far", "b"): other})
        assert comparisons(frame.assign(looks="5,8")).iloc[0]["verdict"] == "untested"
        flattered = comparisons(frame.assign(looks="5,8")).iloc[0]["flattered"]
        assert undecided(frame, (5, 8)) == (set() if flattered else {("far", "a"), ("far", "b")})
    apart = results({("far", "a"): [0.5, 0.6, *["failed"] * 3], ("far", "b"): [*["failed"] * 3, 0.5, 0.6]})
    assert undecided(apart, (5, 8)) == {("far", "a"), ("far", "b")}  # though no seed has both


def test_two_folds_test_nothing_with_any_number_of_seeds():
    folds = [
        results({("far", "a"): [0.5] * 5, ("far", "b"): [0.6] * 5}).assign(replicate=fold)
        for fold in ("FOLD=0", "FOLD=1")
    ]
    assert undecided(pd.concat(folds, ignore_index=True), (5, 8)) == set()


def test_a_decision_stays_whatever_comes_later(rounds):
    far = row(comparisons(of_look(rounds, every=5).assign(looks="5,8,12")), "far", "c")
    assert (far["look"], far["verdict"]) == (5, "different")
    later = of_look(rounds, every=12, far_c=5)  # the base was trained on for b
    again = row(comparisons(later.assign(looks="5,8,12")), "far", "c")
    later_on = ["difference_now", "n_now", "base_n_now"]
    pd.testing.assert_series_equal(again.drop(later_on), far.drop(later_on), check_names=False)
    assert np.isnan(far["difference_now"])  # it rests on all scores
    means = [np.mean(rounds["far", name][:seeds]) for name, seeds in (("c", 5), ("a", 12))]
    assert again[later_on].tolist() == pytest.approx([means[0] - means[1], 5, 12])
    (said,) = [
        told
        for told in sentences(later, comparisons(later.assign(looks="5,8,12")))
        if told.startswith("c beats a on far")
    ]
    assert f" With all seeds so far it is {means[0] - means[1]:.3f}." in said
    spoilt = {**rounds, ("far", "c"): rounds["far", "c"][:5] + [-9.0] * 7}
    assert row(comparisons(results(spoilt).assign(looks="5,8,12")), "far", "c")["verdict"] == "different"
    assert set(comparisons(later.assign(looks="5,8,12"))["look"]) <= {5, 8, 12}


def test_a_look_counts_when_all_its_seeds_have_ended(rounds):
    frame = of_look(rounds, every=8).assign(looks="5,8,12")
    frame.loc[(frame["seed"] == 6) & (frame["variant"] == "b"), ["state", "test"]] = ["running", np.nan]
    found = comparisons(frame)
    assert (row(found, "near", "b")["look"], row(found, "near", "b")["n"]) == (5, 5)
    begun = frame[frame["seed"] < 4]
    assert set(comparisons(begun)["look"]) == {0}
    assert not comparisons(begun)["holds"].any()


def test_holm_over_all_pairs_against_statsmodels():
    shifts = {"a": 0, "b": 1, "c": 3, "d": 9}
    frame = results({("one", name): (RNG.normal(size=6) + shift).tolist() for name, shift in shifts.items()})
    found = all_pairs(frame)
    assert len(found) == 6
    assert found["p_holm"].tolist() == pytest.approx(multipletests(found["p"], method="holm")[1].tolist())
    assert ((found["verdict"] == "different") == (found["p_holm"] <= 0.05)).all()
    asked = comparisons(frame.assign(compare="all"))
    assert set(asked["tests"]) == {6}
    looked = all_pairs(frame.assign(looks="5,9"))  # Holm's procedure does not know of several looks
    assert ((looked["verdict"] == "different") == ((looked["low"] > 0) | (looked["high"] < 0))).all()
    assert (looked["verdict"] == "different").sum() < (found["verdict"] == "different").sum()


def test_a_seed_that_one_lacks_is_left_out_and_said():
    rnn = row(comparisons(results(FLAVOURS)), "near", "rnn")
    assert (rnn["pairs"], rnn["left_out"]) == (3, 1)
    assert rnn["difference"] == pytest.approx(np.mean([0.10, 0.12, 0.09]))


def test_a_lead_does_not_hold_if_the_leader_diverged_on_a_seed():
    scores: Scores = {
        ("one", "a"): [0.1, 0.12, 0.11, 0.13, 0.1, 0.12],
        ("one", "b"): [0.9, 0.91, "diverged", 0.92, 0.9, 0.91],
    }
    flattered = comparisons(results(scores)).iloc[0]
    assert np.isnan([flattered["low"], flattered["high"]]).all()
    assert (flattered["flattered"], flattered["holds"]) == (True, False)
    assert not leaders(results(scores)).iloc[0]["holds"]
    crashed = results(
        {**scores, ("one", "b"): [0.9, 0.91, "failed", 0.92, 0.9, 0.91]}
    )  # says nothing about the variant
    assert comparisons(crashed).iloc[0]["holds"]
    other = results({("one", "a"): scores["one", "b"], ("one", "b"): scores["one", "a"]})
    assert not comparisons(other).iloc[0]["holds"]
    loser: Scores = {
        ("one", "a"): [0.1, "diverged", 0.11, 0.13, 0.1, 0.12],
        ("one", "b"): [0.9, 0.91, 0.95, 0.92, 0.9, 0.9],
    }
    assert comparisons(results(loser)).iloc[0]["holds"]


def test_a_variant_that_diverged_on_a_seed_is_not_equivalent_also_where_it_is_a_little_worse():
    base = [0.5, 0.501, 0.499, 0.502, 0.498, 0.5, 0.501, 0.5, 0.499, 0.5]
    for shift in (-0.0001, 0.0, 0.0001):
        other: list[float | str] = [score + shift for score in reversed(base)]
        assert comparisons(results({("one", "a"): base, ("one", "b"): other})).iloc[0]["verdict"] == "equivalent"
        other[3] = "diverged"
        found = comparisons(results({("one", "a"): base, ("one", "b"): other})).iloc[0]
        assert found["verdict"] == "open"
        assert "diverged" in found["note"]
        assert found["flattered"] or found["seeds_needed"] > 100  # which could show that they differ


@settings(max_examples=20, deadline=None)
@given(STUDY, st.booleans())
def test_an_interval_excludes_zero_where_the_sentence_says_that_the_difference_holds(scores, clear):
    """Also where one variant is far ahead, so that many differences hold."""
    ahead = {
        key: [s + 5 if clear and key[1] == "b" and not isinstance(s, str) else s for s in scores[key]] for key in scores
    }
    frame = results(ahead)
    found = comparisons(frame)
    said = [told for told in sentences(frame, found) if " beats " in told]
    assert len(said) - sum(" beats every " in told for told in said) == found["holds"].sum()
    assert sum(" equivalent " in told for told in sentences(frame, found)) == (found["verdict"] == "equivalent").sum()
    for one in found.to_dict("records"):
        excludes = one["low"] > 0 or one["high"] < 0
        assert excludes == (one["verdict"] in ("different", "suggested"))
        assert one["holds"] == (one["verdict"] == "different")
        if excludes:
            assert one["p_corrected"] <= 0.05 + 1e-9 or np.isnan(one["p_corrected"])
            assert np.sign(one["low"]) == np.sign(one["high"]) == np.sign(one["difference"])
        assert np.isnan(one["seeds_needed"]) or one["verdict"] in ("open", "suggested")
        assert not one["seeds_needed"] <= one["n"]
    for told in said:
        ends = re.search(r"95 % interval (\S+) to ([\d.e-]+)\)", told)
        assert ends is None or float(ends[1]) >= 0
    held = leaders(frame).query("holds")
    for leader in held.itertuples():  # a lead that holds over all others holds over the base
        rows = found[found["dataset"] == leader.dataset]
        rows = rows if leader.variant in set(rows["base"]) else rows[rows["variant"] == leader.variant]
        assert rows[rows["p"].notna()]["holds"].all()


def test_with_fewer_than_three_pairs_there_is_no_test():
    found = comparisons(results({("one", "a"): [0.1, 0.2], ("one", "b"): [0.8, 0.9]})).iloc[0]
    assert found["difference"] == pytest.approx(0.7)
    assert found[["low", "high", "effect", "p", "p_equivalence", "p_corrected", "better"]].isna().all()
    assert found["verdict"] == "untested"
    assert found["note"] == "fewer than 3 seeds: no test was made"


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
    assert (far["variant"], far["rivals"], far["fewest"]) == ("lru", 2, 4)  # the broken one is no rival
    assert not far["holds"]  # with so few seeds
    lru, *others = (np.array(FLAVOURS["far", variant]) for variant in ("lru", "lstm", "rnn"))
    assert far["p"] == pytest.approx(max(stats.ttest_rel(lru, other).pvalue for other in others))
    assert far["p_corrected"] == pytest.approx(4 * far["p"])  # with two rivals on each dataset
    assert near["variant"] == "rnn"
    assert leaders(results(DECIDED)).iloc[0][["variant", "holds"]].tolist() == ["lru", True]


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
    same = ["difference", "low", "high", "p", "p_corrected", "effect", "verdict", "pairs", "seeds_needed"]
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
    assert [one["p"], one["better"]] == pytest.approx([other["p"], 1 - other["better"]], nan_ok=True)
