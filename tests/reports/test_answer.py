"""One sentence per dataset, which says no more than the table."""

import re

import numpy as np
import pytest
from helpers.known_results import results
from hypothesis import given, settings
from hypothesis import strategies as st

from gredkit.reports.answer import answers
from gredkit.reports.statistics import comparisons

NOISE = np.array([0.0, 0.01, -0.01, 0.005, -0.005, 0.002, 0.0, 0.003, -0.003, 0.001])  # of ten seeds


def told(scores, **metrics):
    frame = results(scores, **metrics)
    return {one.dataset: one for one in answers(frame, comparisons(frame))}


def test_what_is_decided_comes_first_and_what_is_open_last():
    found = told(
        {
            ("far", "base"): 0.9 + NOISE / 20,
            ("far", "same"): 0.9 - NOISE / 20,
            ("far", "bad"): 0.5 + NOISE,
            ("far", "worse"): 0.3 + NOISE,
            ("far", "wild"): 0.85 + 10 * NOISE,
        }
    )["far"]
    best, rest = found.sentence.split(". Against base: ")
    assert best == "Best: base (0.900); shown to be worse: bad, worse; not separated from it: same, wild"
    assert rest.startswith(
        "worse and bad are worse, by 0.40 to 0.60 accuracy; same is equivalent (within ±0.010 accuracy; "
    )
    missed = 100 * (1 - 0.05 ** (1 / 10))
    assert f"; failures of fewer than {missed:.0f} % of seeds may have gone unseen); wild is not decided (" in rest
    assert rest.endswith(" seeds would decide).")
    assert (found.decided, found.comparisons) == (3, 4)


@pytest.mark.parametrize(
    ("means", "best"),
    [
        ((0.9, 0.5, 0.4), "Best: base (0.900); shown to be worse: all others (v1, v2)"),
        ((0.9, 0.5), "Best: base (0.900); shown to be worse: v1"),
        ((0.5, 0.5, 0.4), "Best: base (0.500); shown to be worse: v2; not separated from it: v1"),
        ((0.5, 0.5), "Best mean: base (0.500); not separated from it: v1"),
        ((0.1, 0.9, *[0.5] * 6), "Best: v1 (0.900); shown to be worse: all others (base, v2, v3, v4 and 3 others)"),
    ],
)
def test_it_begins_with_the_best_and_what_is_shown_to_be_worse(means, best):
    scores = {("far", f"v{place}" if place else "base"): mean + NOISE for place, mean in enumerate(means)}
    assert told(scores)["far"].sentence.split(". ")[0] == best


def test_what_is_not_separated_begins_with_the_nearest():
    means = (0.5, 0.52, 0.51, 0.49, 0.48, 0.47)
    scores = {("far", f"v{place}"): mean + 20 * np.roll(NOISE, place) for place, mean in enumerate(means)}
    found = told({**scores, ("far", "low"): -9 + NOISE})["far"].sentence
    assert found.startswith(
        "Best: v1 (0.526); shown to be worse: low; not separated from it: v2, v0, v3, v4 and 1 other."
    )


def test_names_with_a_comma_can_be_told_apart():
    found = told({("far", f"lru, K={K}"): mean + NOISE for K, mean in enumerate((0.1, 0.5, 0.9))})["far"].sentence
    assert found.startswith("Best: “lru, K=2” (0.900); shown to be worse: all others (“lru, K=0”, “lru, K=1”).")
    assert "Against lru, K=0: “lru, K=2” and “lru, K=1” are better" in found


def test_of_a_leader_that_diverged_nothing_is_claimed():
    found = told({("far", "base"): 0.1 + NOISE, ("far", "b"): [*(0.9 + NOISE[:9]), "diverged"]})["far"].sentence
    assert found.startswith(
        "Best mean: b (0.900), without the seeds on which it diverged; not separated from it: base."
    )


def test_a_difference_below_the_margin_is_called_so():
    scores = {("far", "base"): 0.5 + NOISE / 20, ("far", "b"): 0.503 + NOISE[::-1] / 20}
    assert told(scores)["far"].sentence.endswith(", less than the margin of what matters (±0.010).")
    more = told({**scores, ("far", "c"): 0.8 + NOISE})["far"].sentence
    assert more.endswith("by 0.0030 to 0.30 accuracy, of b less than the margin of what matters (±0.010).")


def test_a_smaller_error_is_better():
    found = told({("zinc", "base"): 0.9 + NOISE, ("zinc", "good"): 0.5 + NOISE[::-1]}, zinc="mae")["zinc"]
    assert found.sentence.startswith(
        "Best: good (0.500); shown to be worse: base. Against base: good is better, by 0.40 MAE (95 % interval 0.3"
    )


@pytest.mark.parametrize(
    ("scores", "sentence"),
    [
        ({("far", "base"): [0.5, 0.6]}, "Only base has a score: 0.550 on average."),
        ({("far", "base"): ["failed"]}, "No trial has a score yet."),
        ({("far", "base"): [0.5], ("far", "b"): ["failed"], ("far", "c"): [0.6]},
         "Best mean: c (0.600); not separated from it: base. Against base: c has too few seeds for a test; "
         "1 variant cannot be compared yet."),
        ({("far", "base"): ["failed"], ("far", "b"): [0.5], ("far", "c"): [0.6]},
         "Best mean: c (0.600); not separated from it: b. Against base: 2 variants cannot be compared yet."),
        ({("far", "base"): 0.9 + NOISE[:4], ("far", "b"): 0.5 + NOISE[:4]},
         "Best mean: base (0.901); not separated from it: b. Against base: b seems to differ (5 seeds would decide)."),
    ],
)  # fmt: skip
def test_what_is_not_known_is_not_claimed(scores, sentence):
    assert told(scores)["far"].sentence == sentence


@settings(max_examples=25, deadline=None)
@given(st.lists(st.lists(st.floats(0, 1), min_size=1, max_size=6), min_size=2, max_size=6))
def test_every_variant_is_counted_once(scores):
    frame = results({("far", f"variant{place}"): some for place, some in enumerate(scores)})
    compared = comparisons(frame)
    (found,) = answers(frame, compared)
    assert found.comparisons == len(compared)
    assert found.decided == compared["verdict"].isin(["different", "equivalent"]).sum()
    different = compared[compared["verdict"] == "different"]
    assert bool(re.search(" (is|are) better,", found.sentence)) == bool((different["difference"] > 0).any())
    assert bool(re.search(" (is|are) worse,", found.sentence)) == bool((different["difference"] < 0).any())
