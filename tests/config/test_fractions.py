"""Fractions of all combinations: checked by brute force, as plus and minus one over all trials."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gredkit.config.fractions import about, columns_of, shortest_words
from gredkit.config.study import Study
from gredkit.errors import UserError

# Runs of the smallest regular two-level fraction that is at least of the resolution, as textbooks tabulate them
TABLE = {
    3: {3: 4, 4: 8, 5: 8, 6: 8, 7: 8, 8: 16, 11: 16, 15: 16},
    4: {4: 8, 5: 16, 6: 16, 7: 16, 8: 16, 9: 32, 11: 32, 16: 32},
    5: {5: 16, 6: 32, 7: 64, 8: 64, 9: 128, 10: 128, 11: 128, 12: 256},
}


def signs(switches, resolution):
    """One row per combination, one column per switch: -1 for the first value, 1 for the second."""
    axes = {f"s{place}": ("off", "on") for place in range(switches)}
    points = Study(axes=axes, combine="fraction", resolution=resolution).points()
    return np.array([[1 if point.bindings[axis] == "on" else -1 for axis in axes] for point in points])


def brute_resolution(design):
    """The fewest columns whose product is the same in all rows."""
    for length in range(1, design.shape[1] + 1):
        for some in combinations(range(design.shape[1]), length):
            if abs(design[:, some].prod(1).sum()) == len(design):
                return length
    return None


@pytest.mark.parametrize(
    ("resolution", "switches", "runs"), [(r, k, runs) for r, row in TABLE.items() for k, runs in row.items()]
)
def test_fractions_are_as_small_as_in_the_table_orthogonal_and_of_their_resolution(resolution, switches, runs):
    design = signs(switches, resolution)
    assert len(design) == len({tuple(row) for row in design}) == runs
    np.testing.assert_array_equal(design.T @ design, runs * np.eye(switches))
    np.testing.assert_array_equal(design.sum(0), np.zeros(switches))
    for length in range(1, resolution):
        for some in combinations(range(switches), length):
            assert abs(design[:, some].prod(1).sum()) < runs


@given(st.integers(2, 8), st.sampled_from([3, 4, 5]))
def test_the_resolution_that_is_said_is_that_of_the_trials(switches, resolution):
    words = shortest_words(columns_of(switches, resolution), most=switches)
    assert (len(words[0]) if words else None) == brute_resolution(signs(switches, resolution))


def test_of_equal_size_the_better_resolution_is_taken():
    assert brute_resolution(signs(5, 4)) == 5
    assert brute_resolution(signs(8, 3)) == 4


def test_the_base_comes_first():
    points = Study(axes=dict.fromkeys("ABCDEF", (False, True)), combine="fraction").points()
    assert len(points) == 16
    assert points[0].label == "A=False, B=False, C=False, D=False, E=False, F=False"


def test_two_switches_have_all_combinations():
    assert len(Study(axes={"A": (1, 2), "B": (1, 2)}, combine="fraction").points()) == 4
    assert [point.label for point in Study(combine="fraction").points()] == ["base"]


def test_the_size_counts_the_fraction():
    study = Study(axes=dict.fromkeys("ABCDEFGH", (0, 1)), combine="fraction", seeds=(0, 1), most_trials=63)
    with pytest.raises(UserError, match="16 variants and 64 trials"):
        study.check_size(2)


def test_what_a_fraction_is():
    said = about(dict.fromkeys("ABCDEF", (0, 1)), 4)
    assert said.startswith("16 of the 64 combinations of 6 switches: resolution IV, main effects are not confounded")
    assert "resolution III" in about(dict.fromkeys("ABCDEFG", (0, 1)), 3)
    assert about(dict.fromkeys("ABC", (0, 1)), 4) == "8 of the 8 combinations of 3 switches: all of them"


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"axes": {"A": (1, 2), "B": (1, 2, 3)}}, "exactly two values, and 'B' has 3"),
        ({"axes": {"A": (1, 2), "B": (1, 2)}, "only": {"A": {"B": (1,)}}}, "take 'A' out of study.only"),
        ({"axes": {"A": (1, 2), "B": (1, 2)}, "variants": {"one": {}}}, "an axis of two values"),
        ({"axes": {f"s{i}": (1, 2) for i in range(25)}}, "at most 24 axes, not 25"),
        ({"resolution": 6}, "study.resolution is a whole number from 3 to 5"),
    ],
)
def test_what_makes_no_sense_is_a_sentence(settings, said):
    with pytest.raises(UserError, match=said):
        Study(combine="fraction", **settings)
