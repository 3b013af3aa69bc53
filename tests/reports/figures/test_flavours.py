import numpy as np
from reports.figures.made_frames import EIGHT, LONG, clouds, flavour_axes, legend_names, results_frame, texts

from gredkit.reports.figures.flavours import flavours


def names(axes):
    return [label.get_text() for label in axes.get_yticklabels()]


def test_a_row_a_variant_with_every_seed():
    results = results_frame(flavour_axes())
    figure = flavours(results)
    digits, zinc = figure.axes
    assert [axes.get_xlabel() for axes in figure.axes] == ["test accuracy ↑", "test MAE ↓"]
    assert names(digits) == ["lru", "lstm", "rnn", "attention"]
    assert names(zinc) == [""] * 4  # stand at the left of the row
    assert digits.get_ylim()[0] > digits.get_ylim()[1]  # the base on top
    assert [len(cloud.get_offsets()) for cloud in clouds(digits)] == [3, 3, 3, 3]
    rows = results[results["dataset"] == "digits"].groupby("variant", sort=False)["test"]
    marks = [line for line in digits.lines if line.get_marker() != "None"]
    assert np.allclose([mark.get_xdata()[0] for mark in marks], rows.mean())
    bars = [bar.get_paths()[0].vertices[:, 0] for bar in digits.collections if bar not in clouds(digits)]
    assert np.allclose([np.ptp(bar) / 2 for bar in bars], rows.std())
    assert legend_names(figure) == ["mean ± s.d. over seeds", "single seed"]


def test_trials_without_a_score_are_counted_in_the_label():
    states = {("lstm", 0): "diverged", **{("rnn", seed): "failed" for seed in range(3)}, ("attention", 1): "missing"}
    digits, zinc = flavours(results_frame(flavour_axes(), states=states)).axes
    assert names(digits) == ["lru", "lstm\n1 diverged", "rnn\n3 failed", "attention\n1 missing"]
    assert names(zinc) == ["", "1 diverged", "3 failed", "1 missing"]


def test_a_finished_trial_without_a_number_is_not_dropped_silently():
    results = results_frame(flavour_axes(), ["digits"])
    results.loc[0, "test"] = np.inf
    results.loc[1, "test"] = np.nan
    assert names(flavours(results).axes[0])[0] == "lru\n2 without a score"


def test_one_seed_is_one_mark():
    figure = flavours(results_frame(flavour_axes(["lru"]), ["digits"], seeds=1))
    assert figure.get_figwidth() == 3.3
    assert clouds(figure.axes[0]) == []
    assert len(figure.axes[0].lines) == 1
    assert legend_names(figure) == []


def test_a_dataset_without_scores_keeps_its_panel_and_its_names():
    results = results_frame(flavour_axes(["lru", "lstm"]))
    results.loc[results["dataset"] == "digits", "state"] = "interrupted"
    figure = flavours(results)
    assert names(figure.axes[0]) == ["lru\n3 interrupted", "lstm\n3 interrupted"]
    assert "no finished trials yet" in texts(figure)


def test_published_values_are_vertical_lines():
    figure = flavours(results_frame(flavour_axes()), {"digits": [("GRED, paper, 200 epochs", 0.61)]})
    assert [0.61, 0.61] in [list(line.get_xdata()) for line in figure.axes[0].lines]
    assert "GRED, paper, 200 epochs" in legend_names(figure)


def test_trials_that_only_tune_are_left_out():
    results = results_frame(flavour_axes(["lru", "lstm"]), ["digits"])
    results.loc[results["seed"] == 0, "role"] = "tune"
    assert [len(cloud.get_offsets()) for cloud in clouds(flavours(results).axes[0])] == [2, 2]


def test_long_names_stay_different():
    shown = names(flavours(results_frame(flavour_axes(LONG), ["digits"])).axes[0])
    assert len(set(shown)) == len(LONG) == len(EIGHT)
    assert max(len(line) for name in shown for line in name.splitlines()) <= 24


def test_accuracies_do_not_go_beyond_one():
    results = results_frame(flavour_axes(), ["digits"])
    results["test"] = 1.0
    assert flavours(results).axes[0].get_xlim()[1] < 1.01
