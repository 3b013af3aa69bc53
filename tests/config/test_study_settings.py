from dataclasses import replace
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gredkit.config.study import Study
from gredkit.errors import UserError

AXES = st.dictionaries(st.sampled_from("ABCD"), st.lists(st.integers(0, 9), min_size=1, max_size=3), max_size=3)


def bound(study):
    return [dict(point.bindings) for point in study.points()]


@given(AXES)
def test_a_grid_has_every_combination_once_for_each_place(axes):
    wanted = [dict(zip(axes, values, strict=True)) for values in product(*axes.values())]
    assert bound(Study(axes=axes)) == wanted


@given(AXES)
def test_one_at_a_time_changes_one_binding_of_the_base(axes):
    points = bound(Study(axes=axes, combine="one_at_a_time"))
    assert points == [{}, *({axis: value} for axis, values in axes.items() for value in values)]


def test_pairs_go_together():
    assert bound(Study(axes={"LAYERS": (1, 2), "K": (8, 4)}, combine="zip")) == [
        {"LAYERS": 1, "K": 8},
        {"LAYERS": 2, "K": 4},
    ]


def test_without_axes_there_is_one_point():
    for combine in ("grid", "zip", "one_at_a_time"):
        assert [point.label for point in Study(combine=combine).points()] == ["base"]


def test_named_variants_bundle_bindings_and_combine_with_axes():
    study = Study(variants={"plain": {}, "deep": {"LAYERS": 9, "K": 1}}, axes={"DIM": (8, 16)})
    assert [point.label for point in study.points()] == ["plain, DIM=8", "plain, DIM=16", "deep, DIM=8", "deep, DIM=16"]
    assert bound(study)[-1] == {"LAYERS": 9, "K": 1, "DIM": 16}


MODE = {"encoders.lru.mode": {"variant.encoder": ("lru",)}}
ENCODERS, MODES = ("lru", "rnn", "mean"), ("scan", "loop")


def test_an_axis_applies_only_where_its_condition_holds():
    study = Study(axes={"variant.encoder": ENCODERS, "encoders.lru.mode": MODES, "K": (1, 2)}, only=MODE)
    lru = [{"variant.encoder": "lru", "encoders.lru.mode": mode, "K": K} for mode in MODES for K in (1, 2)]
    assert bound(study) == lru + [{"variant.encoder": name, "K": K} for name in ("rnn", "mean") for K in (1, 2)]
    assert labels(axes={"encoders.lru.mode": MODES, "variant.encoder": ENCODERS}, only=MODE) == [
        *("mode=scan, lru", "mode=loop, lru", "rnn", "mean")
    ]


def test_conditions_may_follow_from_others_and_concern_variants():
    axes = {"C": (1, 2), "B": (1, 2), "A": (1, 2)}
    chain = {"C": {"B": (1,)}, "B": {"A": (1,)}}
    assert bound(Study(axes=axes, only=chain)) == [
        *({"C": 1, "B": 1, "A": 1}, {"C": 2, "B": 1, "A": 1}, {"B": 2, "A": 1}, {"A": 2})
    ]
    assert bound(Study(axes=axes, only=chain, combine="zip")) == [{"C": 1, "B": 1, "A": 1}, {"A": 2}]
    named = {"plain": {}, "lru": {"variant.encoder": "lru"}}
    for combine in ("grid", "one_at_a_time"):
        study = Study(variants=named, axes={"encoders.lru.mode": MODES}, only=MODE, combine=combine)
        assert bound(study)[0] == {}
        assert bound(study)[-2:] == [{"variant.encoder": "lru", "encoders.lru.mode": mode} for mode in MODES]


def test_a_variant_tunes_what_it_has():
    study = Study(axes={"variant.encoder": ("lru", "rnn")}, tune={"T": (1, 2), "R": (3, 4)}, only={
        "R": {"variant.encoder": ("lru",)}})  # fmt: skip
    searched = [[dict(found.bindings) for found in study.tuning_points(point.bindings)] for point in study.points()]
    assert searched == [[{"T": t, "R": r} for t in (1, 2) for r in (3, 4)], [{"T": 1}, {"T": 2}]]


def labels(**settings):
    return [point.label for point in Study(**settings).points()]


def test_labels_are_as_short_as_tells_them_apart():
    assert labels(axes={"variant.encoder": ("lru", "rnn"), "K": (4, None)}) == [
        *("lru, K=4", "lru, K=diameter", "rnn, K=4", "rnn, K=diameter")
    ]
    assert labels(axes={"encoders.lru.mode": ("scan",)}) == ["mode=scan"]
    both = {"variant.encoder": ("mean",), "variant.aggregator": ("mean",)}
    assert labels(axes=both, combine="one_at_a_time") == ["base", "encoder=mean", "aggregator=mean"]
    widths = {"encoders.lru.state_dim": (8,), "encoders.rnn.state_dim": (8,)}
    assert labels(axes=widths, combine="one_at_a_time") == [
        *("base", "encoders.lru.state_dim=8", "encoders.rnn.state_dim=8")
    ]


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"combine": "gird"}, "grid, zip, one_at_a_time"),
        ({"axes": {"A": (1, 2), "B": (1,)}, "combine": "zip"}, "A 2, B 1"),
        ({"axes": {"A": ()}}, "'A' needs a list of values"),
        ({"axes": {"A": "lru"}}, "'A' needs a list of values"),
        ({"tune": {"A": ()}}, "'A' needs a list of values"),
        ({"seeds": ()}, "at least one seed"),
        ({"seeds": (0, 0)}, "none twice"),
        ({"seeds": "decided"}, "until_decided"),
        ({"most_seeds": 4}, "study.most_seeds is a whole number from 5 to 10,000, not 4"),
        ({"datasets": ()}, "at least one name"),
        ({"datasets": "digits"}, "at least one name"),
        ({"seeds": (10**23,)}, "a whole number from 0"),
        ({"name": "a/../../b"}, "letters, digits"),
        ({"match_params": -3}, "number of parameters"),
        ({"axes": {"A": (1,)}, "only": {"A": {"B": (1,)}}}, "'A' depends on 'B', which is no other axis and in no"),
        ({"axes": {"A": (1,), "B": (1,)}, "only": {"A": {"B": 1}}}, r"only\['A'\]\['B'\] needs a list of values"),
        ({"axes": {"A": (1,), "B": (1,)}, "only": {"A": {"B": (2,)}}}, "never applies: 'B' has the values 1, and"),
        ({"axes": {"A": (1,), "B": (1,)}, "only": {"A": {"B": (1,)}, "B": {"A": (1,)}}}, "goes in a circle"),
        ({"axes": {"A": (1,), "B": (1,)}, "only": {"A": {"B": (1,)}}, "combine": "one_at_a_time"}, "is in no variant"),
        ({"axes": {"A": (1,)}, "only": {"C": {"A": (1,)}}}, "'C', which is no axis: choose from A"),
    ],
)
def test_what_makes_no_sense_is_a_sentence(settings, said):
    with pytest.raises(UserError, match=said):
        Study(**settings)


def test_a_study_says_its_size_before_it_is_made():
    study = Study(axes={name: range(1000) for name in "ABCDEFGH"}, seeds=(0, 1))
    with pytest.raises(UserError, match=rf"{10**24:,} variants and {4 * 10**24:,} trials in all"):
        study.check_size(datasets=2)


def test_all_seeds_that_may_be_trained_count_in_the_size():
    study = Study(axes={"A": (1, 2)}, seeds="until_decided", most_seeds=20, most_trials=39)
    assert study.looks == (5, 8, 12, 18, 20)
    with pytest.raises(UserError, match="2 variants and 40 trials"):
        study.check_size(1)
    assert Study(seeds=(3, 4), most_seeds=20).looks == ()


def test_conditions_count_in_the_size():
    axes = {**{name: range(30) for name in "ABC"}, "D": (0, 1)}
    only = {name: {"D": (1,)} for name in "ABC"}
    with pytest.raises(UserError, match="at least 5,001 variants and 10,002 trials"):
        Study(axes=axes, only=only, seeds=(0, 1)).check_size(1)
    Study(axes=axes, only=only, seeds=(0, 1), most_trials=2 * (30**3 + 1)).check_size(1)


@given(AXES, st.sampled_from(("grid", "one_at_a_time")), st.integers(1, 3))
def test_the_size_is_that_of_the_plan(axes, combine, datasets):
    tuned = Study(axes=axes, combine=combine, tune={"T": (1, 2)}, tune_seeds=(0, 1, 2), seeds=(0, 1), most_trials=1)
    size = len(tuned.points()) * datasets * (2 + 2 * 3)
    with pytest.raises(UserError, match=rf" {size:,} trials"):
        tuned.check_size(datasets)
    replace(tuned, most_trials=size).check_size(datasets)
