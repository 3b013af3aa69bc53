"""One sentence per dataset, which says no more than the table."""

import numpy as np
import pytest
from helpers.known_results import results
from hypothesis import given, settings
from hypothesis import strategies as st

from gredkit.reports.answer import answers
from gredkit.reports.statistics import comparisons

NOISE = np.array([0.0, 0.01, -0.01, 0.005, -0.005, 0.002])


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
    parts = found.sentence.split("; ")
    assert parts[0] == "worse and bad are worse than base, by 0.40 to 0.60"
    assert parts[1] == "same is equivalent to base (within ±0.010)"
    assert parts[2].startswith("wild is not decided (")
    assert parts[2].endswith("seeds would decide).")
    assert (found.decided, found.comparisons) == (3, 4)


def test_a_smaller_error_is_better():
    found = told({("zinc", "base"): 0.9 + NOISE, ("zinc", "good"): 0.5 + NOISE[::-1]}, zinc="mae")["zinc"]
    assert found.sentence.startswith("good is better than base, by 0.40 (95 % interval 0.3")


@pytest.mark.parametrize(
    ("scores", "sentence"),
    [
        ({("far", "base"): [0.5, 0.6]}, "Only base has a score: 0.550 on average."),
        ({("far", "base"): ["failed"]}, "No trial has a score yet."),
        ({("far", "base"): [0.5], ("far", "b"): ["failed"], ("far", "c"): [0.6]},
         "c has too few seeds for a test; 1 variant cannot be compared yet."),
        ({("far", "base"): 0.9 + NOISE[:4], ("far", "b"): 0.5 + NOISE[:4]},
         "b seems to differ (about 5 seeds would decide)."),
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
    assert ("better than" in found.sentence) == bool((different["difference"] > 0).any())
    assert ("worse than" in found.sentence) == bool((different["difference"] < 0).any())
