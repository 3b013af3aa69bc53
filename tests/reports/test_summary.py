"""The sentences say what the numbers say, and no more."""

import numpy as np
import pandas as pd
import pytest
from helpers.known_results import COLUMNS, DECIDED, FLAVOURS, results
from hypothesis import given, settings
from hypothesis import strategies as st

from gredkit.reports.statistics import comparisons
from gredkit.reports.summary import sentences


def told(frame):
    return sentences(frame, comparisons(frame))


def test_the_flavours():
    assert told(results(FLAVOURS)) == [
        "lru has the best mean on far, 0.955 accuracy, which is no decision with fewer than 5 seeds.",
        "rnn has the best mean on near, 0.620 accuracy, but without the seeds on which it diverged.",
        "lru is ahead of lstm on far by 0.588 accuracy (95 % interval 0.558 to 0.617): "
        "4 seeds suggest it, but at least 5 decide.",
        "lru is ahead of rnn on far by 0.650 accuracy (95 % interval 0.625 to 0.675): "
        "4 seeds suggest it, but at least 5 decide.",
        "broken and lru cannot be compared on far: no seed has finished for both.",
        "lstm and lru are equal on average on near (95 % interval -0.0569 to 0.0569); "
        "4 seeds cannot decide, about 50 would.",
        "rnn is ahead of lru on near by 0.103 accuracy, but rnn diverged on some seeds, so that nothing is decided. "
        "Left out: 1 seed that did not finish for both.",
        "broken and lru cannot be compared on near: no seed has finished for both.",
        "1 of 4 trials of broken on far diverged.",
        "2 of 4 trials of broken on far failed.",
        "1 of 4 trials of broken on far is not in MLflow.",
        "1 of 4 trials of rnn on near diverged.",
        "4 of 4 trials of broken on near failed.",
        "Intervals are t intervals, simultaneous for 6 comparisons (Bonferroni): in 95 % of studies all of them cover "
        "the true differences.",
        "All variants have one architecture, so they are compared seed by seed (paired t tests).",
        "So many seeds would decide with a probability of 80 %, if difference and spread are as measured so far.",
    ]


def test_what_is_decided():
    found = told(results(DECIDED))
    assert found[0] == "lru has the best mean on far, 0.950 accuracy, and it beats every other variant."
    assert found[1] == ("lstm has the best mean on near, 0.512 accuracy, but no other variant is shown to be worse.")
    assert found[2].startswith(
        "lru beats rnn on far by 0.645 accuracy (95 % interval 0.619 to 0.672) over 6 seeds; p <"
    )
    assert found[3] == (
        "gru and lru are equivalent on near: no difference that matters, within ±0.010 accuracy "
        "(90 % interval -0.000648 to 0.000648), over 10 seeds; failures of fewer than 26 % of seeds may have gone "
        "unseen."
    )
    assert found[4].endswith("; 10 seeds cannot decide, about 100 would.")


def test_the_lead_names_what_is_shown_to_be_worse():
    noise = (0.0, 0.01, -0.01, 0.005, -0.005)
    rivals = {("one", "b"): [0.498 + 5 * one for one in noise], ("one", "c"): [0.2 + one for one in noise]}
    found = told(results({("one", "a"): [0.5 + one for one in noise], **rivals}))
    assert found[0] == "a has the best mean on one, 0.500 accuracy; shown to be worse: c; not separated from it: b."


def test_intervals_of_a_metric_with_two_ends_stay_between_them():
    scores = {("one", "a"): [1.0, 1.0, 1.0, 1.0, 1.0], ("one", "b"): [0.0, 0.5, 0.0, 0.1, 0.2]}
    assert "(95 % interval 0.583 to 1.00)" in told(results(scores))[1]
    assert "(95 % interval 0.583 to 1.10)" in told(results(scores, one="mae"))[1]
    assert (
        "(95 % interval 5.83 to 11.0)"
        in told(results({key: [10 * s for s in some] for key, some in scores.items()}))[1]
    )


def test_a_certain_difference_may_be_too_small_to_matter():
    scores = {("one", "a"): [0.5, 0.501, 0.502, 0.5, 0.501], ("one", "b"): [0.504, 0.505, 0.5061, 0.5041, 0.505]}
    assert told(results(scores))[1].endswith("It is smaller than ±0.010, the margin of what matters.")
    assert "margin" not in " ".join(told(results(scores).assign(margin=0.001)))


def test_it_is_said_that_the_number_of_seeds_was_not_fixed():
    frame = results(DECIDED)
    assert not any("not fixed" in said for said in told(frame))
    assert "The number of seeds was not fixed: the intervals allow for each look at the scores." in told(
        frame.assign(looks="5,6")
    )


def test_with_two_seeds_no_test_was_made():
    found = told(results({("digits", "lru"): [0.9, 0.8], ("digits", "rnn"): [0.7, 0.85]}))
    assert found == [
        "lru has the best mean on digits, 0.850 accuracy, but not every other variant has 3 seeds to test that with.",
        "lru is ahead of rnn on digits by 0.0750 accuracy, but 2 seeds cannot show anything.",
    ]


@pytest.mark.parametrize(
    ("scores", "said"),
    [
        ({}, "There are no trials yet."),
        ({("digits", "lru"): [0.9]}, "lru is the only variant with a score on digits: 0.900 accuracy on average."),
        ({("digits", "lru"): ["failed", "failed"]}, "2 of 2 trials of lru on digits failed."),
        ({("digits", "lru"): ["failed"]}, "No trial has finished yet."),
        ({("digits", "lru"): ["running"]}, "1 of 1 trial of lru on digits is still running."),
        ({("digits", "lru"): ["interrupted"] * 2}, "2 of 2 trials of lru on digits were interrupted."),
        ({("digits", "lru"): [float("nan")]}, "1 of 1 trial of lru on digits finished without a score."),
        (
            {("digits", "lru"): [0.5, 0.6, 0.7, 0.6, 0.5] * 2, ("digits", "rnn"): [0.5, 0.6, 0.7, 0.6, 0.5] * 2},
            "rnn and lru are equivalent on digits: no difference that matters, within ±0.010 accuracy "
            "(90 % interval 0 to 0), over 10 seeds; failures of fewer than 26 % of seeds may have gone unseen.",
        ),
        (
            {("digits", "lru"): [0.5, 0.6, 0.7, 0.6, 0.5], ("digits", "rnn"): [0.6, 0.7, 0.8, 0.7, 0.6]},
            "rnn beats lru on digits by 0.100 accuracy (95 % interval 0.100 to 0.100) over 5 seeds; "
            "the same on every seed.",
        ),
    ],
)
def test_special_cases(scores, said):
    frame = results(scores) if scores else pd.DataFrame(columns=list(COLUMNS))
    assert said in told(frame)


def test_the_paper_beside_with_both_budgets():
    found = told(results({("zinc", "lru"): [0.35, 0.36]}, zinc="mae"))
    assert found[-1] == (
        "On zinc the paper has 0.077 ± 0.002 MAE for GRED (2000 epochs, 4 runs); the best mean here is 0.355 "
        "(30 epochs, lru)."
    )
    folds = told(results({("nci1", "lru"): [0.8]}))[-1]
    assert "0.826 ± 0.014 accuracy for GRED (epochs not published, 10 runs)" in folds
    assert not any("paper" in said for said in told(results({("zinc", "lru"): [0.35]})))  # another metric


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 8))
def test_of_equal_variants_nothing_is_claimed_without_a_small_p(seed, seeds):
    """Whatever the draw: a `beats` has a corrected p of at most 0.05 and five seeds or more."""
    rng = np.random.default_rng(seed)
    frame = results({("one", variant): rng.random(seeds).tolist() for variant in "abcd"})
    compared = comparisons(frame)
    claims = [said for said in sentences(frame, compared) if " beats " in said and " beats every " not in said]
    assert len(claims) == ((compared["p_corrected"] <= 0.05) & (compared["verdict"] == "different")).sum()
    assert not claims or seeds >= 5
