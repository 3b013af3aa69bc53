"""Shares of the variance: known effects are recovered, sums of squares are those of statsmodels."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from helpers.crossed import THREE, crossed, simulated
from helpers.known_results import FLAVOURS, results
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.formula.api import ols
from statsmodels.stats.anova import anova_lm

from gredkit.config.study import Study
from gredkit.reports.effects import COLUMNS, effects, undivided
from gredkit.reports.effects_said import effect_sentences
from gredkit.reports.factors import WITH
from gredkit.reports.study import NOT_SET

LOST = [("lru, 2, True", 0), ("mean, 4, False", 3), ("mean, 4, True", 3)]
BOTH = f"encoder{WITH}K"
TWO = {"variant.encoder": ("lru", "mean"), "K": (2, 4)}


def shares(frame):
    return effects(frame).set_index("term")["share"]


def summed(frame):
    """The sum of what adds up to 1."""
    found = effects(frame)
    return found["share"][found["kind"] != "part of seeds"].sum()


def test_known_effects_of_a_3_x_2_x_2_study_are_recovered():
    """Variances of the parts: encoder 2/3 0.1², K 0.04², skip 0.01², encoder and K 2/3 0.03², seeds twice 0.02²."""
    parts = {
        "encoder": 0.02 / 3,
        "K": 0.0016,
        "skip": 0.0001,
        BOTH: 0.0006,
        "seeds": 0.0008,
    }
    expected = pd.Series(parts) / sum(parts.values())
    found = effects(simulated(seeds=100)).set_index("term")
    assert found["share"][list(parts)].to_numpy() == pytest.approx(expected.to_numpy(), abs=0.015)
    assert found["share"]["seeds, the same in all combinations"] == pytest.approx(expected["seeds"] / 2, abs=0.01)
    nothing = ["encoder \N{MULTIPLICATION SIGN} skip", "K \N{MULTIPLICATION SIGN} skip", "other interactions"]
    assert found["share"][nothing].to_numpy() == pytest.approx(0, abs=0.002)
    assert found.loc["K", ["before", "after"]].tolist() == ["2", "4"]
    assert found.loc["K", "gain"] == pytest.approx(0.08, abs=0.004)
    assert found.loc["skip", "gain"] == pytest.approx(-0.02, abs=0.004)


def test_with_few_seeds_shares_are_right_on_average_and_intervals_hold_them():
    parts = {"encoder": 0.02 / 3, "K": 0.0016, BOTH: 0.0006, "seeds": 0.0008}
    expected = pd.Series(parts) / (sum(parts.values()) + 0.0001)
    found = [effects(simulated(seeds=3, draw=draw)).set_index("term").loc[list(parts)] for draw in range(40)]
    mean = pd.concat([one["share"] for one in found], axis=1).mean(axis=1)
    assert mean.to_numpy() == pytest.approx(expected.to_numpy(), abs=0.02)
    covered = pd.concat([(one["low"] <= expected) & (expected <= one["high"]) for one in found], axis=1).mean(axis=1)
    assert (covered >= 0.75).all(), covered


def test_without_any_effect_shares_are_zero_on_average():
    chance = np.random.default_rng(3)
    frames = [crossed(THREE, lambda point, seed: chance.standard_normal(), seeds=3) for _ in range(30)]
    mean = pd.concat([shares(frame) for frame in frames], axis=1).mean(axis=1)
    assert mean.drop("seeds").to_numpy() == pytest.approx(0, abs=0.05)
    assert mean["seeds"] == pytest.approx(1, abs=0.05)


def anova(frame, formula, letters):
    """The table of statsmodels, type II; the axes are called by letters."""
    columns = dict(zip([name for name in frame if name.startswith("axis:")], letters, strict=True))
    known = frame.dropna(subset=["test"]).rename(columns=columns).astype(dict.fromkeys(letters, str))
    return anova_lm(ols(f"test ~ {formula} + C(seed)", known).fit(), typ=2)


def lettered(found, letters):
    """Our terms as formulas call them."""
    names = dict(zip(found["term"][found["kind"] == "factor"], letters, strict=True))
    return found.assign(term=[":".join(names.get(part, part) for part in term.split(WITH)) for term in found["term"]])


@pytest.mark.parametrize("lost", [[], LOST])
def test_sums_of_squares_are_those_of_statsmodels(lost):
    frame = simulated(lost=lost)
    theirs = anova(frame, "X * Y * Z", "XYZ").rename(
        {"X:Y:Z": "other interactions", "C(seed)": "seeds, the same in all combinations"}
    )
    total, left = theirs["sum_sq"].sum(), theirs.loc["Residual"]
    terms = theirs.drop(index="Residual")
    found = lettered(effects(frame), "XYZ").set_index("term")
    ours = found.loc[terms.index]
    assert ours["squares"].to_numpy() == pytest.approx((terms["sum_sq"] / total).to_numpy())
    assert ours["freedom"].tolist() == terms["df"].tolist()
    expected = (terms["sum_sq"] - terms["df"] * left["sum_sq"] / left["df"]) / total
    assert ours["share"].to_numpy() == pytest.approx(expected.to_numpy())
    alike = "seeds, the same in all combinations"
    assert found["squares"]["seeds"] == pytest.approx((left["sum_sq"] + terms["sum_sq"][alike]) / total)
    assert found["share"]["seeds"] == pytest.approx(1 - expected.drop(alike).sum())


def test_sums_of_squares_of_four_factors_with_missing_trials():
    axes = dict.fromkeys("stu", (0, 1)) | {"v": (0, 1, 2)}
    chance = np.random.default_rng(1)
    lost = [("0, 0, 0, 0", 0), ("1, 0, 1, 2", 1), ("1, 1, 1, 1", 2), ("1, 1, 1, 1", 0)]
    frame = crossed(axes, lambda point, seed: chance.standard_normal(), seeds=3, lost=lost)
    theirs = anova(frame, "(W + X + Y + Z) ** 2", "WXYZ")["sum_sq"].drop(["C(seed)", "Residual"])
    ours = lettered(effects(frame), "WXYZ").set_index("term")["squares"][theirs.index]
    assert (ours / ours.sum()).to_numpy() == pytest.approx((theirs / theirs.sum()).to_numpy())


@settings(max_examples=8, deadline=None)
@given(st.integers(0, 9999), st.floats(-50, 50), st.floats(0.01, 100), st.booleans())
def test_shares_sum_to_one_and_do_not_depend_on_scale_or_names(draw, shift, scale, has_lost):
    frame = simulated(seeds=3, draw=draw, lost=LOST[:1] if has_lost else ())
    before = effects(frame)
    assert summed(frame) == pytest.approx(1)
    moved = effects(frame.assign(test=frame["test"] * scale + shift))
    renamed = effects(frame.assign(seed=frame["seed"].map({0: 17, 1: 3, 2: 5})))
    numbers = ["squares", "share", "low", "high"]
    for other in (moved, renamed):
        np.testing.assert_allclose(other[numbers], before[numbers], rtol=1e-4, atol=1e-7)
    again = effects(frame.sample(frac=1, random_state=draw).sort_values("variant", key=lambda v: v != "lru, 2, True"))
    assert again.set_index("term")["share"]["K"] == pytest.approx(before.set_index("term")["share"]["K"])


def test_paired_axes_named_variants_and_axes_with_conditions_are_one_factor():
    chance = np.random.default_rng(0)
    points = [(e, m, K) for e, m in (("lru", "scan"), ("lru", "kernel"), ("mean", NOT_SET)) for K in (1, 2)]
    axes = {"variant.encoder": (), "encoders.lru.mode": (), "K": ()}
    frame = crossed(axes, lambda point, seed: chance.standard_normal(), points=points)
    found = effects(frame)
    assert found["term"].tolist()[:3] == ["encoder/mode", "K", "encoder/mode \N{MULTIPLICATION SIGN} K"]
    assert found["freedom"].tolist()[:3] == [2, 1, 2]


def test_what_a_variant_searched_for_itself_is_no_factor():
    frame = crossed(TWO, lambda point, seed: point[1] + 0.1 * seed * (point[0] == "lru"))
    frame["axis:fit.rate"] = np.where(frame["variant"] == "lru, 2", 0.1, 0.2)
    searched = frame.assign(role="tune")
    other = searched.assign(**{"axis:fit.rate": 0.3 - searched["axis:fit.rate"]})
    both = pd.concat([frame, searched, other], ignore_index=True)
    assert effects(both)["term"].tolist() == effects(frame.drop(columns="axis:fit.rate"))["term"].tolist()


@pytest.mark.parametrize(
    "points",
    [
        [(1, 8), (2, 4), (4, 2)],  # paired
        [(NOT_SET, NOT_SET), (1, NOT_SET), (NOT_SET, 2)],  # one at a time
        [(1, 1), (1, 2), (1, 4)],  # one axis
    ],
)
def test_a_study_that_crosses_nothing_has_no_effects(points):
    frame = crossed({"A": (), "B": ()}, lambda point, seed: 0.1 * seed, points=points)
    assert effects(frame).empty
    assert effect_sentences(frame) == []


def test_an_empty_study_and_one_without_axes():
    for frame in (results({}), results(FLAVOURS)):
        assert list(effects(frame).columns) == list(COLUMNS)
        assert effects(frame).empty


@pytest.mark.parametrize(
    ("seeds", "lost", "said"),
    [
        (3, [("lru, 2", seed) for seed in range(3)], "lru, 2 has no score"),
        (3, [(f"{e}, 2", seed) for e in ("lru", "mean") for seed in range(3)], "lru, 2 and 1 more have no score"),
        (1, [], "it takes two seeds"),
        (4, [*(("lru, 2", s) for s in (2, 3)), *((f"{e}, {K}", s) for e, K, s in (("lru", 4, 0), ("lru", 4, 1)))], ""),
    ],
)
def test_where_the_variance_cannot_be_divided_one_sentence_says_why(seeds, lost, said):
    chance = np.random.default_rng(0)
    frame = crossed(TWO, lambda point, seed: chance.standard_normal(), seeds=seeds, lost=lost)
    told = list(undivided(frame))
    assert effects(frame).empty == bool(said)
    assert [why.startswith(said) for _, why in told] == ([True] if said else [])
    sentences = [text for text in effect_sentences(frame) if "not divided" in text]
    assert len(sentences) == bool(said)


def test_equal_scores_have_no_variance():
    assert list(undivided(crossed(TWO, lambda point, seed: 0.5))) == [("digits", "all scores are equal")]


def test_two_seeds_have_shares_without_intervals():
    found = effects(simulated(seeds=2))
    assert found["share"].notna().all()
    assert found[["low", "high", "gain_low", "gain_high"]].isna().all(axis=None)


def test_the_sentence_of_two_factors():
    chance = np.random.default_rng(0)
    frame = crossed(TWO, lambda point, seed: (point[0] == "lru") + 0.5 * (point[1] == 4) + 0.1 * chance.random())
    said = effect_sentences(frame)[0]
    assert said.startswith("On digits encoder explains 79 % of the variance of the score (approximate 95 % interval 7")
    assert ", K 21 % (" in said
    assert ", both together less than 1 % (0 to 0 %), seeds " in said


def test_a_fraction_says_what_it_confounds():
    axes = {f"s{i}": ("off", "on") for i in range(6)}
    points = [tuple(point.bindings.values()) for point in Study(axes=axes, combine="fraction").points()]
    chance = np.random.default_rng(0)

    def score(point, seed):
        return 0.1 * (point[0] == "on") + 0.02 * (point[1] == "on") * (point[2] == "on") + 0.01 * chance.random()

    frame = crossed(axes, score, points=points)
    found = effects(frame).set_index("term")
    mains = found[found["kind"] == "factor"]
    assert mains["gain"].to_numpy() == pytest.approx([0.1, 0.01, 0.01, 0, 0, 0], abs=0.003)
    assert (mains["confounded"] == "").all()
    assert ((mains["gain_low"] <= mains["gain"]) & (mains["gain"] <= mains["gain_high"])).all()
    signs = np.where(np.array(points) == "on", 1, -1)
    for name, row in found[found["kind"] == "interaction"].iterrows():
        columns = [
            signs[:, [int(switch[1:]) for switch in pair.split(" \N{MULTIPLICATION SIGN} ")]].prod(1)
            for pair in (name, *filter(None, row["confounded"].split(", ")))
        ]
        assert all(abs(columns[0] @ other) == len(signs) for other in columns)
    pairs = sum(
        1 + len(list(filter(None, told.split(", ")))) for told in found["confounded"][found["kind"] == "interaction"]
    )
    assert pairs == 15
    assert summed(frame) == pytest.approx(1)
    said = [text for text in effect_sentences(frame) if "a fraction of resolution IV" in text]
    assert len(said) == 1
    assert "16 of 64 combinations" in said[0]


def test_in_a_fraction_of_resolution_three_main_effects_name_their_pairs():
    axes = {f"s{i}": (0, 1) for i in range(3)}
    points = [tuple(point.bindings.values()) for point in Study(axes=axes, combine="fraction", resolution=3).points()]
    chance = np.random.default_rng(0)
    frame = crossed(axes, lambda point, seed: point[0] + chance.random(), points=points)
    found = effects(frame)
    assert found["confounded"].tolist()[:3] == [
        "s1 \N{MULTIPLICATION SIGN} s2",
        "s0 \N{MULTIPLICATION SIGN} s2",
        "s0 \N{MULTIPLICATION SIGN} s1",
    ]
    assert any("s0 with s1 \N{MULTIPLICATION SIGN} s2" in text for text in effect_sentences(frame))


def test_a_grid_that_lacks_a_combination_crosses_nothing():
    axes = dict.fromkeys("ABC", (0, 1))
    frame = crossed(axes, lambda point, seed: 0.1 * seed, points=list(product((0, 1), repeat=3))[:-1])
    assert effects(frame).empty
