"""Which part does the work? Each change against the full model."""

import pytest
from helpers.known_results import results as known_results
from matplotlib.patches import Rectangle
from reports.figures.made_frames import flaws, results_frame, texts

from gredkit.reports.drawing.marks import told
from gredkit.reports.figures.differences import Differences, differences
from gredkit.reports.statistics import comparisons
from gredkit.reports.study import NOT_SET, StudyData

AXES = ("models.gred.glu", "models.gred.norm", "K")
CHANGES = {
    "base": (NOT_SET, NOT_SET, 4),
    "glu=none": ("none", NOT_SET, 4),
    "norm=False": (NOT_SET, False, 4),
    "K=1": (NOT_SET, NOT_SET, 1),
}
STUDY = results_frame({name: dict(zip(AXES, values, strict=True)) for name, values in CHANGES.items()}, seeds=5)


def test_rows_are_sorted_by_effect_and_marked_by_their_verdict():
    results = STUDY.copy()
    harmed = results["variant"] == "norm=False"
    results.loc[harmed & (results["dataset"] == "digits"), "test"] -= 0.4
    results.loc[harmed & (results["dataset"] == "zinc"), "test"] += 0.4  # a larger error is worse
    figure = differences(results)
    first, second = figure.axes
    assert first.get_yticklabels()[0].get_text() == "norm=False"
    assert first.get_xlabel() == "test accuracy: gain over base\n(logarithmic beyond ±0.03)"
    found = comparisons(results).set_index(["dataset", "variant"])["difference"]
    for axes, dataset in ((first, "digits"), (second, "zinc")):
        marks = [float(line.get_xydata()[0][0]) for line in axes.lines if line.get_marker() == "o"]
        assert marks[0] == pytest.approx(found[dataset, "norm=False"])
        assert marks[0] < -0.3
        assert sorted(marks) == pytest.approx(sorted(found[dataset]))
        verdicts = comparisons(results).query("dataset == @dataset")["verdict"]
        full = [line for line in axes.lines if line.get_marker() == "o" and line.get_markerfacecolor() != "white"]
        assert len(full) == verdicts.isin(["different", "equivalent"]).sum() >= 1
        (zone,) = axes.patches
        assert isinstance(zone, Rectangle)
        assert zone.get_width() == pytest.approx(2 * comparisons(results).query("dataset == @dataset")["margin"].max())
    assert flaws(figure) == []


def test_beside_a_huge_difference_small_ones_can_be_seen():
    results = results_frame(
        {name: dict(zip(AXES, values, strict=True)) for name, values in CHANGES.items()}, ["digits"], 5
    )
    assert differences(results).axes[0].get_xscale() == "linear"
    assert differences(results).axes[0].get_xlabel() == "test accuracy: gain over base"
    results.loc[results["variant"] == "norm=False", "test"] -= 0.7
    figure = differences(results)
    (axes,) = figure.axes
    ends = axes.transData.transform([(-0.01, 0), (0.01, 0)])[:, 0] - axes.transData.transform((0, 0))[0]
    assert min(abs(ends)) > 0.04 * axes.bbox.width  # half of the zone
    texts_below = [label.get_text() for label in axes.get_xticklabels()]
    assert texts_below == ["\N{MINUS SIGN}0.5", "\N{MINUS SIGN}0.03", "0", "0.03"]
    assert flaws(figure) == []


def test_it_is_drawn_where_there_is_something_to_compare():
    assert Differences().draw(StudyData("made", STUDY)) is not None
    assert Differences().draw(StudyData("made", STUDY[STUDY["variant"] == "base"])) is None


def test_a_change_that_diverged_is_named():
    results = results_frame(
        {name: dict(zip(AXES, values, strict=True)) for name, values in CHANGES.items()},
        states={("norm=False", seed): "diverged" for seed in range(3)},
    )
    assert "3 diverged" in " ".join(texts(differences(results))).replace("\n", " ")


def test_beside_the_pointer_stands_how_often_it_wins_and_what_more_seeds_say():
    scores = {("far", "a"): [0.5, 0.51, 0.52, 0.5, 0.51, 0.1, 0.1, 0.1], ("far", "b"): [0.3, 0.31, 0.32, 0.31, 0.3]}
    figure = differences(known_results(scores).assign(looks="5,8"))
    ((mark,),) = [marks for _, marks in told(figure)]
    assert mark.text.splitlines() == [
        "b against a",
        "far, 5 seeds",
        "-0.200 (95 % interval -0.212 to -0.188)",
        "-0.0470 with all seeds so far (5 and 8)",
        "better on 0 of 5 seeds, P(A > B) = 0.00",
        "different",
    ]
