import numpy as np
import pandas as pd
import pytest
from helpers.studies import TinyStudy
from matplotlib.patches import Circle
from reports.figures.made_frames import (
    SEVEN,
    clouds,
    eigenvalues_frame,
    flavour_axes,
    hop_weights_frame,
    k_axes,
    legend_names,
    results_frame,
    texts,
)

from gredkit.registry import FIGURES
from gredkit.reports.drawing.spectra import HAVE_EIGENVALUES, wanted
from gredkit.reports.figures.eigenvalues import eigenvalues
from gredkit.reports.figures.hop_filter import NO_WEIGHTS, hop_filter
from gredkit.reports.reading import read_study


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
    for axes in hop_filter(results, hop_weights_frame(results), frame).axes:
        assert axes.get_title() == "digits, K=8"
        assert axes.get_xlim() == (0, 8)


def dashed_and_solid(axes):
    """The lines of a panel: at the start, after training."""
    return (
        [line.get_ydata() for line in axes.lines if line.is_dashed()],
        [line.get_ydata() for line in axes.lines if line.get_marker() not in ("", "None")],
    )


def test_weights_and_the_decay_of_the_state_are_told_apart():
    results = results_frame(flavour_axes(["lru"]), ["digits"]).assign(K=4)
    figure = hop_filter(results, hop_weights_frame(results), eigenvalues_frame(results))
    weight, decay = figure.axes
    hops = np.arange(5)
    start, end = dashed_and_solid(weight)
    assert np.allclose(start, [0.7**hops] * 2)
    assert np.allclose(end, [1.1 * 0.9**hops, 2.2 * 0.9**hops])  # the means of 1, 1.1 and 1.2
    bands = [band.get_paths()[0].vertices for band in weight.collections]
    assert [(band[:, 1].max(), band[band[:, 0] == 0, 1].min()) for band in bands] == [(1.2, 1.0), (2.4, 2.0)]
    start, end = dashed_and_solid(decay)
    assert np.allclose(start, [0.9**hops] * 2)
    assert np.allclose(end, [0.8**hops, 0.85**hops])
    assert weight.get_ylabel().startswith("weight of the hop")
    assert decay.get_ylabel().startswith("decay of the state")
    assert "lambda" not in weight.get_ylabel()
    assert weight.get_xlim() == decay.get_xlim() == (0, 4)
    assert weight.get_ylim()[0] == decay.get_ylim()[0] == 0
    assert legend_names(figure) == [
        "layer 1", "layer 2", "after training", "at the start", "weight: range of 3 seeds", "decay: 10 % to 90 % of λ"
    ]  # fmt: skip


def test_weights_that_were_not_recorded_are_missed():
    results = results_frame(flavour_axes(["lru"]))
    weights, frame = hop_weights_frame(results), eigenvalues_frame(results)
    none = hop_filter(results, weights.iloc[:0], frame)
    assert NO_WEIGHTS in texts(none)
    assert [axes.get_ylabel().partition("\n")[0] for axes in none.axes] == ["decay of the state", ""]
    some = hop_filter(results, weights[weights["dataset"] == "zinc"], frame)
    missed, there, *below = some.axes
    assert (missed.get_title(), there.get_title(), len(below)) == ("digits", "zinc", 2)
    assert [text.get_text().replace("\n", " ") for text in missed.texts] == [NO_WEIGHTS]
    assert len(there.lines) == 4


def test_an_encoder_with_weights_but_no_eigenvalues_has_one_row():
    results = results_frame(flavour_axes(["weighted_sum"]))
    figure = hop_filter(results, hop_weights_frame(results), pd.DataFrame())
    assert [axes.get_title() for axes in figure.axes] == ["digits", "zinc"]
    assert not any("decay" in words for words in texts(figure))


def test_hops_end_at_k_or_at_the_median_diameter():
    results = results_frame(flavour_axes(["lru"]))
    frames = hop_weights_frame(results), eigenvalues_frame(results)
    figure = hop_filter(results.assign(K=[4] * 3 + [None] * 3), *frames, {"zinc": (12, 22)})
    assert [axes.get_xlim() for axes in figure.axes] == [(0, 4), (0, 12)] * 2


def test_hops_of_the_whole_dataset_end_where_its_largest_distance_does():
    results = results_frame(flavour_axes(["lru"]), ["zinc"]).assign(K="dataset", **{"setting:last_hop": "22"})
    figure = hop_filter(results, hop_weights_frame(results), eigenvalues_frame(results), {"zinc": (12, 30)})
    assert [axes.get_xlim() for axes in figure.axes] == [(0, 22)] * 2


def test_eigenvalues_that_are_no_numbers_are_left_out():
    results = results_frame(flavour_axes(["lru"]), ["digits"])
    frame = eigenvalues_frame(results)
    frame.loc[0, "real"] = np.nan
    start, end = clouds(eigenvalues(results, frame).axes[0])
    assert (len(start.get_offsets()), len(end.get_offsets())) == (14, 15)


def test_without_eigenvalues_the_figure_says_so():
    results = results_frame(flavour_axes(["lstm"]))
    weights, frame = hop_weights_frame(results), eigenvalues_frame(results)
    for drawn in (eigenvalues(results, frame.iloc[:0]), eigenvalues(results, frame, variant="lru")):
        assert "no eigenvalues yet" in texts(drawn)[0]
    for drawn in (
        hop_filter(results, weights.iloc[:0], frame.iloc[:0]),
        hop_filter(results, weights, frame, variant="lru"),
    ):
        assert "no hop weights and no eigenvalues yet" in texts(drawn)[0]


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


def test_each_encoder_that_has_them_is_drawn():
    results = results_frame(flavour_axes(["lru", "mine", "lstm"]), ["digits"])
    results["setting:encoder"] = results["variant"]
    able = results[results["variant"] != "lstm"]
    titles = [axes.get_title() for axes in eigenvalues(results, eigenvalues_frame(able, layers=1)).axes]
    assert titles == ["digits, lru\nlayer 1 of 1", "digits, mine\nlayer 1 of 1"]
    with_weights = results[results["variant"] == "mine"]
    drawn = hop_filter(results, hop_weights_frame(with_weights), eigenvalues_frame(able))
    lru_weight, mine_weight, lru_decay, mine_decay = drawn.axes
    assert [lru_weight.get_title(), mine_weight.get_title()] == ["digits, lru", "digits, mine"]
    assert [text.get_text().replace("\n", " ") for text in lru_weight.texts] == [NO_WEIGHTS]
    assert all(len(axes.lines) == 4 for axes in (mine_weight, lru_decay, mine_decay))


def test_of_the_variants_of_one_encoder_the_one_that_looks_farthest_is_drawn():
    axes = {f"{encoder} {K}": {"variant.encoder": encoder, "K": K} for encoder in ("lru", "mine") for K in (2, 8)}
    results = results_frame(axes, ["digits"])
    results["setting:encoder"] = results["axis:variant.encoder"]
    results["setting:layers_with_eigenvalues"] = "2"
    titles = {axes.get_title().partition("\n")[0] for axes in eigenvalues(results, eigenvalues_frame(results)).axes}
    assert titles == {"digits, lru 8", "digits, mine 8"}
    assert set(wanted(results, {}, HAVE_EIGENVALUES)) == set(results["id"][results["axis:K"] == 8])


OWN = """
import torch
from torch import nn
from gredkit.nn.encoders.base import SequenceEncoder
from gredkit.registry import ENCODERS

@ENCODERS.register("decay")
class Decay(SequenceEncoder):
    '''Exponential moving average with one learned decay per channel: real eigenvalues.'''

    def __init__(self, dim):
        super().__init__()
        self.size = nn.Parameter(torch.linspace(-1.0, 2.0, dim))

    def eigenvalues(self):
        return self.size.sigmoid()

    def hop_weights(self, width):
        hops = torch.arange(width)[:, None]
        return (self.eigenvalues() ** hops).norm(dim=1) / len(self.size) ** 0.5

    def forward(self, z, hops):
        rows = hops.grid.sum(z).view(hops.num_nodes, hops.width, -1)
        return torch.einsum("kd,nkd->nd", self.eigenvalues() ** torch.arange(hops.width)[:, None], rows)
"""
STUDY = """
study.axes = {'variant.encoder': ('lru', 'decay')}
SEEDS = (0,)
EPOCHS = 1
LAYERS = 2
DIM = 8
K = 3
datasets.ring_transfer.graphs = 20
"""


def test_an_encoder_of_the_users_own_is_recorded_and_drawn(tmp_path):
    study = TinyStudy(tmp_path, STUDY, reports=True)
    (tmp_path / "own.py").write_text(OWN)
    result = study.run("--import", "own")
    assert result.returncode == 0, result.stderr
    data = read_study(study.tracker())
    own = data.eigenvalues[data.eigenvalues["variant"] == "decay"]
    assert own.groupby(["layer", "moment"]).size().to_dict() == {
        (layer, moment): 8 for layer in (0, 1) for moment in ("start", "end")
    }
    start = own[(own["layer"] == 0) & (own["moment"] == "start")]
    assert np.allclose(start["real"], 1 / (1 + np.exp(-np.linspace(-1, 2, 8))), atol=1e-6)
    assert not start["imag"].any()
    weights = data.hop_weights[(data.hop_weights["variant"] == "decay") & (data.hop_weights["moment"] == "start")]
    assert np.allclose(weights.loc[weights["hop"] == 0, "weight"], 1.0)
    assert {(f"ring_transfer, {name}", layer) for name in ("lru", "decay") for layer in ("1 of 2", "2 of 2")} == {
        tuple(axes.get_title().split("\nlayer ")) for axes in FIGURES["eigenvalues"]().draw(data).axes
    }
    for name in ("eigenvalues", "hop_filter"):
        assert (tmp_path / f"reports/tiny/{name}.png").is_file()
