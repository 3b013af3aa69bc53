import numpy as np
import pytest
from matplotlib.patches import Circle
from reports.figures.made_frames import (
    SEVEN,
    clouds,
    eigenvalues_frame,
    flavour_axes,
    k_axes,
    legend_names,
    results_frame,
    texts,
)

from gredkit.reports.figures.eigenvalues import eigenvalues
from gredkit.reports.figures.hop_filter import hop_filter


def test_a_panel_a_layer_with_the_unit_circle_start_and_end():
    results = results_frame(flavour_axes(["lru"]), ["digits"])
    figure = eigenvalues(results, eigenvalues_frame(results, layers=2))
    assert [axes.get_title() for axes in figure.axes] == ["digits\nlayer 1 of 2", "digits\nlayer 2 of 2"]
    for layer, axes in enumerate(figure.axes):
        (circle,) = [patch for patch in axes.patches if isinstance(patch, Circle)]
        assert (tuple(circle.center), circle.radius) == ((0, 0), 1)
        start, end = (np.linalg.norm(cloud.get_offsets(), axis=1) for cloud in clouds(axes))
        assert np.allclose(start, 0.9)
        assert np.allclose(end, 0.8 + 0.05 * layer)
        assert len(start) == len(end) == 15  # of all seeds
        assert axes.get_aspect() == 1
        assert axes.get_xlabel() == "Re λ"
    assert figure.axes[0].get_ylabel() == "Im λ"
    assert legend_names(figure) == ["at the start (3 seeds)", "after training (3 seeds)", "|λ| = 1"]


@pytest.mark.parametrize(("datasets", "layers", "panels"), [(3, 2, 6), (1, 11, 11), (7, 8, 14)])
def test_many_layers_of_many_datasets_are_thinned_out(datasets, layers, panels):
    results = results_frame(flavour_axes(["lru"]), SEVEN[:datasets], seeds=1)
    figure = eigenvalues(results, eigenvalues_frame(results, layers))
    assert len(figure.axes) == panels
    titles = [axes.get_title() for axes in figure.axes]
    assert any(f"layer 1 of {layers}" in title for title in titles)
    assert any(f"layer {layers} of {layers}" in title for title in titles)


def test_the_variant_that_looks_farthest_is_shown_and_named():
    results = results_frame(k_axes([1, 8, 4]), ["digits"])
    frame = eigenvalues_frame(results)
    assert eigenvalues(results, frame).axes[0].get_title().startswith("digits, K=8\n")
    assert eigenvalues(results, frame, variant="K=4").axes[0].get_title().startswith("digits, K=4\n")
    assert hop_filter(results, frame).axes[0].get_title() == "digits, K=8"
    assert hop_filter(results, frame).axes[0].get_xlim() == (0, 8)


def test_the_weight_of_a_hop_is_a_power():
    results = results_frame(flavour_axes(["lru"]), ["digits"]).assign(K=4)
    figure = hop_filter(results, eigenvalues_frame(results))
    (axes,) = figure.axes
    assert axes.get_xlim() == (0, 4)
    assert axes.get_ylim()[0] == 0
    hops = np.arange(5)
    dashed = [line.get_ydata() for line in axes.lines if line.is_dashed()]
    assert len(dashed) == 2
    assert np.allclose(dashed, 0.9**hops)
    solid = [line.get_ydata() for line in axes.lines if line.get_marker() not in ("", "None")]
    assert np.allclose(solid, [0.8**hops, 0.85**hops])
    assert legend_names(figure)[:2] == ["layer 1", "layer 2"]
    assert "10 % to 90 % of the eigenvalues" in legend_names(figure)


def test_hops_end_at_k_or_at_the_median_diameter():
    results = results_frame(flavour_axes(["lru"]))
    frame = eigenvalues_frame(results)
    figure = hop_filter(results.assign(K=[4] * 3 + [None] * 3), frame, {"zinc": (12, 22)})
    assert [axes.get_xlim() for axes in figure.axes] == [(0, 4), (0, 12)]


def test_eigenvalues_that_are_no_numbers_are_left_out():
    results = results_frame(flavour_axes(["lru"]), ["digits"])
    frame = eigenvalues_frame(results)
    frame.loc[0, "real"] = np.nan
    start, end = clouds(eigenvalues(results, frame).axes[0])
    assert (len(start.get_offsets()), len(end.get_offsets())) == (14, 15)


@pytest.mark.parametrize("draw", [eigenvalues, hop_filter])
def test_without_eigenvalues_the_figure_says_so(draw):
    results = results_frame(flavour_axes(["lstm"]))
    assert "no eigenvalues yet" in texts(draw(results, eigenvalues_frame(results).iloc[:0]))[0]
    assert "no eigenvalues yet" in texts(draw(results, eigenvalues_frame(results), variant="lru"))[0]


def test_of_many_seeds_the_first_are_drawn_and_the_legend_says_so():
    results = results_frame(flavour_axes(["lru"]), ["digits"], seeds=30)
    figure = eigenvalues(results, eigenvalues_frame(results, layers=1))
    assert [len(cloud.get_offsets()) for cloud in clouds(figure.axes[0])] == [50, 50]
    assert legend_names(figure)[0] == "at the start (10 of 30 seeds)"


def test_a_seed_whose_eigenvalues_could_not_be_read_is_missed():
    results = results_frame(flavour_axes(["lru"]), ["digits"], seeds=4)
    frame = eigenvalues_frame(results)
    figure = eigenvalues(results, frame[frame["seed"] != 2])
    assert legend_names(figure)[0] == "at the start (3 of 4 seeds)"
