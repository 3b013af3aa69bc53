"""From the base to the best variant, one change at a time."""

from itertools import permutations

import numpy as np
import pytest
from helpers.crossed import THREE, crossed, simulated
from hypothesis import given, settings
from hypothesis import strategies as st

from gredkit.reports.ablation_path import ablation_path
from gredkit.reports.effects_said import effect_sentences
from gredkit.reports.statistics import comparisons

THREE_SWITCHES = dict.fromkeys("ABC", (0, 1))


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 9999), st.booleans())
def test_the_path_is_greedy_and_ends_at_the_best_variant(draw, larger):
    chance = np.random.default_rng(draw)
    frame = crossed(
        THREE_SWITCHES, lambda point, seed: chance.random(), seeds=3, digits="accuracy" if larger else "mae"
    )
    means = frame.groupby("variant")["test"].mean()
    best, base, found = means.idxmax() if larger else means.idxmin(), "0, 0, 0", ablation_path(frame)
    changed = [place for place, value in enumerate(best.split(", ")) if value == "1"]
    assert len(found) == len(changed)
    here, left = base, set(changed)
    for step in found.to_dict("records"):
        ways = {}
        for place in left:
            values = here.split(", ")
            values[place] = "1"
            ways[place] = ", ".join(values)
        place = (max if larger else min)(ways, key=lambda place: means[ways[place]])
        assert step["variant"] == ways[place]
        assert step["factor"] == "ABC"[place]
        assert step["previous"] == pytest.approx(means[here])
        assert step["mean"] == pytest.approx(means[ways[place]])
        here = ways[place]
        left.discard(place)
    assert here == best
    if len(found):
        gain = (means[best] - means[base]) * (1 if larger else -1)
        assert found["gain"].sum() == pytest.approx(gain)
        assert found["gain"].iloc[0] == pytest.approx(found["gain"].iloc[0])


def test_the_first_step_is_the_comparison_with_the_base():
    frame = simulated(seeds=5)
    frame = frame.iloc[::-1].reset_index(drop=True)  # the base is the worst one, mean with K = 4
    step, table = ablation_path(frame).iloc[0], comparisons(frame).set_index("variant")
    assert step["gain"] == pytest.approx(table["difference"][step["variant"]])
    assert step["method"] == table["method"][step["variant"]]
    assert step["low"] < step["gain"] < step["high"]
    assert step["tests"] == len(ablation_path(frame))
    assert any(text.startswith("The path from the first variant to lru, 4, True") for text in effect_sentences(frame))


def test_no_path_where_the_base_is_best_or_there_is_no_grid():
    best_first = crossed(THREE_SWITCHES, lambda point, seed: -sum(point) + 0.1 * seed)
    assert ablation_path(best_first).empty
    one_at_a_time = crossed({"A": (), "B": ()}, lambda p, s: sum(p) + 0.1 * s, points=[(0, 0), (1, 0), (0, 1)])
    assert ablation_path(one_at_a_time).empty


def test_a_variant_without_a_score_is_passed_by():
    lost = [("1, 0, 0", seed) for seed in range(3)]
    frame = crossed(THREE_SWITCHES, lambda p, s: 4 * p[0] + 2 * p[1] + p[2] + 0.1 * s, seeds=3, lost=lost)
    assert ablation_path(frame)["factor"].tolist() == ["B", "A", "C"]
    around = {", ".join(map(str, order)) for order in permutations((1, 0, 0))}
    frame = crossed(
        THREE_SWITCHES, lambda p, s: sum(p) + 0.1 * s, seeds=3, lost=[(name, s) for name in around for s in range(3)]
    )
    assert ablation_path(frame).empty


def test_values_are_said_as_they_are():
    found = ablation_path(crossed(THREE, lambda p, s: (p[0] == "mean") + (p[1] == 4) / 2 + 0.1 * s))
    assert found[["factor", "before", "after"]].to_numpy().tolist() == [["encoder", "lru", "mean"], ["K", "2", "4"]]
