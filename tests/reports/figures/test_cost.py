import numpy as np
from reports.figures.made_frames import EIGHT, LONG, flavour_axes, flaws, legend_names, results_frame, texts

from gredkit.reports.figures.cost import COSTS, cost


def marks(axes):
    return [line for line in axes.lines if line.get_marker() not in ("", "None")]


def test_three_columns_a_dataset_with_direct_names():
    results = results_frame(flavour_axes())
    figure = cost(results)
    assert len(figure.axes) == 6
    assert [axes.get_xlabel() for axes in figure.axes] == 2 * list(COSTS.values())
    assert [axes.get_ylabel() for axes in figure.axes] == ["test accuracy ↑", "", "", "test MAE ↓", "", ""]
    assert {axes.get_xscale() for axes in figure.axes} == {"log"}
    means = results[results["dataset"] == "digits"].groupby("variant", sort=False)[[*COSTS, "test"]].mean()
    for axes, column in zip(figure.axes[:3], COSTS, strict=True):
        assert np.allclose([mark.get_xdata()[0] for mark in marks(axes)], means[column])
        assert np.allclose([mark.get_ydata()[0] for mark in marks(axes)], means["test"])
        assert [text.get_text() for text in axes.texts] == list(means.index)
    assert figure.legends == []


def test_eight_names_find_a_place():
    figure = cost(results_frame(flavour_axes(EIGHT), ["digits"]))
    assert all({text.get_text() for text in axes.texts} == set(EIGHT) for axes in figure.axes)
    assert flaws(figure) == []


def test_names_that_do_not_fit_go_to_a_legend():
    figure = cost(results_frame(flavour_axes(LONG), ["digits"]))
    assert not any(axes.texts for axes in figure.axes)
    assert len(legend_names(figure)) == len(LONG)


def test_points_on_top_of_each_other_need_a_legend_for_all():
    results = results_frame(flavour_axes(EIGHT * 1), ["digits", "mnist"], seeds=1)
    results.loc[results["dataset"] == "mnist", ["test", "seconds_per_epoch", "peak_mb", "parameters"]] = [0.5, 1, 9, 7]
    figure = cost(results)
    names = [sum(text.get_text() in EIGHT for text in axes.texts) for axes in figure.axes]
    assert names in ([0] * 6, [8] * 6)
    assert bool(figure.legends) == (names[0] == 0)


def test_who_has_no_score_is_named():
    states = {("rnn", seed): "failed" for seed in range(3)}
    figure = cost(results_frame(flavour_axes(), ["digits"], states=states))
    assert "no score: rnn (3 failed)" in texts(figure)
    assert all(len(marks(axes)) == 3 for axes in figure.axes)


def test_what_was_not_measured_is_said():
    results = results_frame(flavour_axes(), ["digits"]).assign(peak_mb=np.nan)
    figure = cost(results)
    assert texts(figure).count("not measured") == 1
    assert [len(marks(axes)) for axes in figure.axes] == [4, 0, 4]


def test_equal_costs_stand_in_the_middle():
    results = results_frame(flavour_axes(), ["digits"]).assign(parameters=20_000)
    axes = cost(results).axes[2]
    low, high = axes.get_xlim()
    assert np.isclose(low * high, 20_000**2)
    assert high / low < 4
