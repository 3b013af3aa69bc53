import numpy as np
import pytest
from matplotlib.collections import FillBetweenPolyCollection
from reports.figures.made_frames import clouds, k_axes, legend_names, results_frame, texts, titled

from gredkit.reports.figures.k_ablation import k_ablation

DIAMETERS = {"digits": (7, 11), "zinc": (12, 22)}


def mean_line(axes):
    return next(line for line in axes.lines if line.get_label() == "score")


def best(axes):
    (ring,) = [line for line in axes.lines if line.get_markerfacecolor() == "none" and line.get_marker() == "o"]
    return ring.get_xdata()[0]


def test_the_score_is_drawn_against_k():
    results = results_frame(k_axes())
    figure = k_ablation(results, DIAMETERS)
    assert figure.get_figwidth() == 6.9
    digits, zinc = figure.axes
    assert [axes.get_title() for axes in figure.axes] == ["digits", "zinc"]
    assert [axes.get_ylabel() for axes in figure.axes] == ["test accuracy ↑", "test MAE ↓"]
    line = mean_line(digits)
    assert line.get_xdata().tolist() == [1, 2, 4, 7, 8]  # None at the median diameter
    rows = results[results["dataset"] == "digits"].groupby("variant", sort=False)["test"].mean()
    assert np.allclose(line.get_ydata(), rows[["K=1", "K=2", "K=4", "K=None", "K=8"]])
    assert len(clouds(digits)[0].get_offsets()) == 15  # every seed
    assert any(isinstance(band, FillBetweenPolyCollection) for band in digits.collections)
    assert (best(digits), best(zinc)) == (7, 1)  # scores grow with the place of the variant
    assert legend_names(figure)[:3] == ["single seed", "mean ± s.d. over seeds", "best mean"]


def test_the_diameter_is_marked():
    figure = k_ablation(results_frame(k_axes([1, 2, 4])), DIAMETERS)
    for dataset, (median, largest) in DIAMETERS.items():
        axes = titled(figure, dataset)
        assert [median, median] in [list(line.get_xdata()) for line in axes.lines]
        assert f"(diameter {median}, max {largest})" in axes.get_xlabel()
        assert axes.get_xlim()[0] < 1 < median < axes.get_xlim()[1]
    assert any("diameter: median" in name for name in legend_names(figure))


def test_without_a_known_diameter_none_stands_right_of_the_largest_k():
    axes = k_ablation(results_frame(k_axes(), ["digits"])).axes[0]
    assert mean_line(axes).get_xdata().tolist() == [1, 2, 4, 8, 10]
    assert [label.get_text() for label in axes.get_xticklabels()] == ["1", "2", "4", "8", "\ndiam."]
    assert axes.get_xlabel() == "K in hops"


def test_the_figure_names_which_k_it_draws_at_the_end():
    results = results_frame(k_axes([1, 4, None, "dataset"]), ["digits"])
    axes = k_ablation(results, DIAMETERS).axes[0]
    assert mean_line(axes).get_xdata().tolist() == [1, 4, 7, 11]
    assert [label.get_text() for label in axes.get_xticklabels()] == ["1", "4", "\ndiam.", "\ndataset"]
    known = results.assign(**{"setting:last_hop": results["axis:K"].map({"dataset": "9", 1: "1", 4: "4"})})
    figure = k_ablation(known, DIAMETERS)
    assert mean_line(figure.axes[0]).get_xdata().tolist() == [1, 4, 7, 9]  # what it came to
    assert legend_names(figure)[-2:] == ["diam.: each graph's own diameter", "dataset: largest distance in training"]
    without = legend_names(k_ablation(results_frame(k_axes([1, 4]), ["digits"]), DIAMETERS))
    assert not any("own diameter" in name or "distance" in name for name in without)


def test_k_that_equals_the_diameter_is_not_mixed_with_none():
    results = results_frame(k_axes(), ["digits"])
    line = mean_line(k_ablation(results, {"digits": (8, 8)}).axes[0])
    assert line.get_xdata().tolist() == [1, 2, 4, 8, 8]
    assert np.allclose(line.get_ydata(), results.groupby("variant", sort=False)["test"].mean())


def test_published_values_are_lines_with_their_budget():
    references = {"zinc": [("GRED, paper, 2000 epochs", 0.077), ("GRIT, paper, 2000 epochs", 0.059)]}
    figure = k_ablation(results_frame(k_axes()), DIAMETERS, references)
    digits, zinc = figure.axes
    for label, value in references["zinc"]:
        (line,) = [line for line in zinc.lines if line.get_label() == label]
        assert list(line.get_ydata()) == [value, value]
        assert label in legend_names(figure)
        assert zinc.get_ylim()[0] < value < zinc.get_ylim()[1]
    assert not any("paper" in str(line.get_label()) for line in digits.lines)
    published = [handle for handle in figure.legends[0].legend_handles if "paper" in str(handle.get_label())]
    assert len({str(vars(handle)["_dash_pattern"]) for handle in published}) == 2


def test_other_axes_make_lines_of_their_own():
    axes = {f"{e}, K={K}": {"variant.encoder": e, "K": K} for e in ("lru", "lstm") for K in (1, 4)}
    figure = k_ablation(results_frame(axes, ["digits"]))
    assert legend_names(figure)[:2] == ["lru", "lstm"]
    assert {"lru", "lstm"} <= {line.get_label() for line in figure.axes[0].lines}


def test_lost_trials_are_counted_where_they_happened_and_break_the_line():
    states = {("K=4", seed): "diverged" for seed in range(3)} | {("K=2", 0): "failed"}
    figure = k_ablation(results_frame(k_axes([1, 2, 4, 8]), ["digits"], states=states))
    assert {"3/3", "1/3"} <= set(texts(figure))
    crosses = [line.get_xdata()[0] for line in figure.axes[0].lines if line.get_marker() == "x"]
    assert crosses == [2, 4]
    assert np.isnan(mean_line(figure.axes[0]).get_ydata()).tolist() == [False, False, True, False]
    assert "without a score (of how many)" in legend_names(figure)


def test_far_reaching_k_stands_in_doublings():
    assert k_ablation(results_frame(k_axes([1, 4, 40]), ["digits"])).axes[0].get_xscale() == "symlog"
    assert k_ablation(results_frame(k_axes([0, 4, 8]), ["digits"])).axes[0].get_xscale() == "linear"


def test_a_study_without_k_says_so():
    results = results_frame({"lru": {"variant.encoder": "lru"}})
    assert texts(k_ablation(results)) == ["this study does not vary K"]


@pytest.mark.parametrize("seeds", [1, 2])
def test_one_seed_has_no_band(seeds):
    figure = k_ablation(results_frame(k_axes(), ["digits"], seeds=seeds))
    assert figure.get_figwidth() == 3.3
    bands = [band for band in figure.axes[0].collections if isinstance(band, FillBetweenPolyCollection)]
    assert len(bands) == (seeds > 1)
    assert ("single seed" in legend_names(figure)) == (seeds > 1)
