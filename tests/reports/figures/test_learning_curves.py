import numpy as np
from reports.figures.made_frames import curves_frame, flavour_axes, legend_names, results_frame, texts

from gredkit.reports.figures.learning_curves import learning_curves


def line(axes, name):
    return next(line for line in axes.lines if line.get_label() == name)


def test_the_mean_of_each_variant_against_the_epoch():
    results = results_frame(flavour_axes())
    curves = curves_frame(results)
    figure = learning_curves(results, curves)
    assert [axes.get_ylabel() for axes in figure.axes] == ["validation accuracy ↑", "validation MAE ↓"]
    assert {axes.get_xlabel() for axes in figure.axes} == {"epoch"}
    for axes, dataset in zip(figure.axes, ["digits", "zinc"], strict=True):
        for name in ["lru", "lstm", "rnn", "attention"]:
            some = curves[(curves["variant"] == name) & (curves["dataset"] == dataset)]
            assert np.allclose(line(axes, name).get_ydata(), some.groupby("epoch")["validation"].mean())
        assert len(axes.collections) == 4  # bands
    assert legend_names(figure) == ["lru", "lstm", "rnn", "attention"]


def test_lost_trials_are_named_and_crossed():
    states = {("lstm", 0): "diverged", **{("rnn", seed): "failed" for seed in range(3)}}
    results = results_frame(flavour_axes(), ["digits"], states=states)
    figure = learning_curves(results, curves_frame(results))
    assert legend_names(figure) == ["lru", "lstm (1 diverged)", "rnn (3 failed)", "attention", "diverged"]
    crosses = [line.get_xdata()[0] for line in figure.axes[0].lines if line.get_marker() == "x"]
    assert crosses == [2]  # the last epoch of half a training
    assert np.isnan(line(figure.axes[0], "lstm").get_ydata()).tolist() == [False] * 3 + [True] * 3


def test_a_dataset_without_epochs_says_so():
    results = results_frame(flavour_axes())
    results.loc[results["dataset"] == "zinc", "state"] = "missing"
    figure = learning_curves(results, curves_frame(results))
    assert "no finished epochs yet\n12 missing" in texts(figure)


def test_errors_that_fall_far_are_logarithmic():
    results = results_frame(flavour_axes(["lru"]))
    curves = curves_frame(results)
    curves["validation"] = 100.0 ** (1 - curves["epoch"] / 5)
    assert [axes.get_yscale() for axes in learning_curves(results, curves).axes] == ["linear", "log"]


def test_epochs_without_a_number_leave_a_gap():
    results = results_frame(flavour_axes(["lru"]), ["digits"], seeds=1)
    curves = curves_frame(results)
    curves.loc[2, "validation"] = np.nan
    assert line(learning_curves(results, curves).axes[0], "lru").get_xdata().tolist() == [0, 1, 3, 4, 5]
