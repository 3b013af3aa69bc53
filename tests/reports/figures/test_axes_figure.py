import numpy as np
import pytest
from matplotlib.patches import Rectangle
from reports.figures.made_frames import flavour_axes, flaws, k_axes, legend_names, results_frame, texts

from gredkit.reports.figures.axes import axes
from gredkit.reports.study import NOT_SET


def crossed(ones=("lru", "lstm"), others=(1, 4, None)):
    return {f"{one}, K={other}": {"variant.encoder": one, "K": other} for one in ones for other in others}


def test_numbers_make_a_line():
    results = results_frame({f"LR={x}": {"LEARNING_RATE": x} for x in (1e-2, 1e-4, 1e-3)}, ["digits"])
    (panel,) = axes(results).axes
    assert panel.get_xlabel() == "LEARNING_RATE"
    assert panel.get_ylabel() == "test accuracy ↑"
    assert panel.get_xscale() == "log"
    assert [label.get_text() for label in panel.get_xticklabels()] == ["0.0001", "0.001", "0.01"]
    line = next(line for line in panel.lines if line.get_label() == "LEARNING_RATE")
    assert line.get_xdata().tolist() == [1e-4, 1e-3, 1e-2]


def test_none_among_numbers_stands_last():
    (panel,) = axes(results_frame(k_axes([None, 1, 2, 4]), ["digits"])).axes
    assert [label.get_text() for label in panel.get_xticklabels()] == ["1", "2", "4", "None"]
    assert panel.get_xticks().tolist() == [1, 2, 4, 6]


@pytest.mark.parametrize("values", [("none", "lap_pe"), (True, False), ("a", None)])
def test_names_make_points(values):
    results = results_frame({f"v={value}": {"variant.positional": value} for value in values}, ["digits"])
    (panel,) = axes(results).axes
    assert [label.get_text() for label in panel.get_yticklabels()] == [str(value) for value in values]
    assert panel.get_xlabel() == "test accuracy ↑"


def test_axes_that_change_together_make_a_line_over_the_pairs():
    pairs = [(8, 1), (4, 2), (2, 4), (1, 8)]
    results = results_frame({f"LAYERS={l}, K={K}": {"LAYERS": l, "K": K} for l, K in pairs}, ["digits"])
    (panel,) = axes(results).axes
    assert [label.get_text() for label in panel.get_xticklabels()] == ["8 \xd7 1", "4 \xd7 2", "2 \xd7 4", "1 \xd7 8"]
    assert panel.get_xlabel() == "LAYERS \xd7 K"


def test_crossed_axes_make_a_heat_map_with_numbers():
    results = results_frame(crossed())
    figure = axes(results)
    digits = figure.axes[0]
    assert [panel.get_title() for panel in figure.axes] == ["digits\ntest accuracy ↑", "zinc\ntest MAE ↓"]
    assert [label.get_text() for label in digits.get_xticklabels()] == ["1", "4", "diam."]
    assert [label.get_text() for label in digits.get_yticklabels()] == ["lru", "lstm"]
    assert (digits.get_xlabel(), digits.get_ylabel()) == ("K", "encoder")
    means = results[results["dataset"] == "digits"].groupby("variant", sort=False)["test"].mean()
    assert [text.get_text() for text in digits.texts] == [f"{mean:.3f}" for mean in means]
    frames = [next(patch for patch in panel.patches if isinstance(patch, Rectangle)) for panel in figure.axes]
    assert [frame.get_xy() for frame in frames] == [(2, 1), (0, 0)]  # largest accuracy, smallest error
    assert legend_names(figure) == ["best mean (darker is better)"]


@pytest.mark.parametrize("dataset", ["digits", "zinc"])
def test_darker_is_better_whichever_direction_that_is(dataset):
    (panel,) = axes(results_frame(crossed(), [dataset])).axes
    panel.get_figure().draw_without_rendering()  # colours are computed when drawn
    colours = np.asarray(panel.collections[0].get_facecolor())[:, :3].sum(1)
    scores = [float(text.get_text()) for text in panel.texts]
    best = np.argmin(scores) if dataset == "zinc" else np.argmax(scores)
    assert np.argmin(colours) == best


def test_cells_without_a_score_say_why():
    states = {("lstm, K=4", seed): "failed" for seed in range(3)} | {("lru, K=1", 0): "diverged"}
    figure = axes(results_frame(crossed(), ["digits"], states=states))
    assert "3\nfailed" in texts(figure)
    assert sum("1/3 lost" in text for text in texts(figure)) == 1
    assert "no score here" in legend_names(figure)


def test_an_axis_with_one_value_is_no_axis():
    results = results_frame({f"{e}": {"variant.encoder": e, "K": 4} for e in ("lru", "rnn")}, ["digits"])
    assert [label.get_text() for label in axes(results).axes[0].get_yticklabels()] == ["lru", "rnn"]


def test_three_axes_make_a_row_a_variant():
    study = {f"{a}{b}{c}": {"A": a, "B": b, "C": c} for a in (1, 2) for b in (1, 2) for c in "xy"}
    (panel,) = axes(results_frame(study, ["digits"])).axes
    assert [label.get_text() for label in panel.get_yticklabels()] == list(study)


def test_a_study_without_axes_has_a_row_a_variant():
    (panel,) = axes(results_frame({name: {} for name in flavour_axes()}, ["digits"])).axes
    assert len(panel.get_yticklabels()) == 4


def test_an_axis_that_applies_to_some_variants_only_leaves_empty_cells():
    modes = {
        "lru, scan": ("lru", "scan"),
        "lru, loop": ("lru", "loop"),
        "lstm": ("lstm", NOT_SET),
        "rnn": ("rnn", NOT_SET),
    }
    results = results_frame({name: {"variant.encoder": e, "encoders.lru.mode": m} for name, (e, m) in modes.items()})
    figure = axes(results)
    assert flaws(figure) == []
    words = texts(figure)
    assert NOT_SET in " ".join(words).replace("\n", " ")
    assert sum(word.startswith("0.") for word in words) == 2 * 4  # as many means as variants on two datasets
