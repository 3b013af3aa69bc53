"""The sentences say what the numbers say, and no more."""

import numpy as np
import pandas as pd
import pytest
from helpers.known_results import COLUMNS, FLAVOURS, results
from hypothesis import given, settings
from hypothesis import strategies as st

from gredkit.reports.statistics import comparisons
from gredkit.reports.summary import sentences


def told(frame):
    return sentences(frame, comparisons(frame))


def test_the_flavours():
    found = told(results(FLAVOURS))
    corrected = comparisons(results(FLAVOURS)).set_index(["dataset", "variant"])["p_corrected"]
    assert found == [
        "lru has the best mean on far, 0.955 accuracy, and its lead over every other variant holds.",
        "rnn has the best mean on near, 0.620 accuracy, but without the seeds on which it diverged.",
        "lru beats lstm on far by 0.588 accuracy (95 % interval 0.562 to 0.613), on 4 of 4 seeds; "
        "p < 0.001, corrected for 4 comparisons.",
        "lru beats rnn on far by 0.650 accuracy (95 % interval 0.628 to 0.672), on 4 of 4 seeds; "
        "p < 0.001, corrected for 4 comparisons.",
        "broken and lru cannot be compared on far: no seed has finished for both.",
        "No difference that holds between lstm and lru on near: equal on average "
        "(95 % interval -0.0492 to 0.0492), lru better on 2 of 4 seeds; p = 1, corrected for 4 comparisons.",
        "No difference that holds between rnn and lru on near: rnn is ahead by 0.103 accuracy "
        "(no interval, since seeds are left out), on 3 of 3 seeds; "
        f"p = {corrected['near', 'rnn']:.2g}, corrected for 4 comparisons. "
        "Left out: 1 seed that did not finish for both. rnn diverged on some, so that its lead does not count.",
        "broken and lru cannot be compared on near: no seed has finished for both.",
        "1 of 4 trials of broken on far diverged.",
        "2 of 4 trials of broken on far failed.",
        "1 of 4 trials of broken on far is not in MLflow.",
        "1 of 4 trials of rnn on near diverged.",
        "4 of 4 trials of broken on near failed.",
        "That a difference does not hold is no proof that there is none.",
        "Intervals are t intervals, simultaneous for 4 comparisons (Bonferroni): in 95 % of studies all of them cover "
        "the true mean differences.",
        "With 3 seeds an exact test cannot go below p = 0.25 (8 seeds would do for 4 comparisons), so that what holds "
        "does so if differences between seeds are about normally distributed.",
    ]


def test_with_two_seeds_no_test_was_made():
    found = told(results({("digits", "lru"): [0.9, 0.8], ("digits", "rnn"): [0.7, 0.85]}))
    assert found == [
        "lru has the best mean on digits, 0.850 accuracy, but not every other variant has 3 seeds to test that with.",
        "With 2 seeds no test was made between rnn and lru on digits: "
        "lru is ahead by 0.0750 accuracy, on 1 of 2 seeds.",
    ]


def test_enough_seeds_need_no_caveat():
    scores = {
        ("digits", "lru"): [0.9, 0.91, 0.92, 0.9, 0.93, 0.94],
        ("digits", "rnn"): [0.5, 0.52, 0.51, 0.55, 0.5, 0.52],
    }
    found = told(results(scores))
    assert len(found) == 3
    assert found[1].startswith("lru beats rnn on digits by 0.400 accuracy (95 % interval 0.3")
    assert found[2] == "The interval is a t interval: it covers the true mean difference in 95 % of studies."


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
            {("digits", "lru"): [0.5, 0.6, 0.7], ("digits", "rnn"): [0.5, 0.6, 0.7]},
            "rnn and lru have equal scores on digits, on 3 of 3 seeds.",
        ),
        (
            {("digits", "lru"): [0.5, 0.6, 0.7], ("digits", "rnn"): [0.6, 0.7, 0.8]},
            "No difference that holds between rnn and lru on digits: rnn is ahead by 0.100 accuracy (the same on every "
            "seed, so only an exact test was made), on 3 of 3 seeds; p = 0.25.",
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
    """Whatever the draw: a `beats` has a corrected p of at most 0.05 and three seeds or more."""
    rng = np.random.default_rng(seed)
    frame = results({("one", variant): rng.random(seeds).tolist() for variant in "abcd"})
    compared = comparisons(frame)
    claims = [said for said in sentences(frame, compared) if " beats " in said]
    assert len(claims) == ((compared["p_corrected"] <= 0.05) & compared["holds"]).sum()
    assert not claims or seeds >= 3
