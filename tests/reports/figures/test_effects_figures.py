"""The figures of studies that cross factors."""

import numpy as np
import pandas as pd
import pytest
from helpers.crossed import crossed, simulated
from matplotlib.patches import Rectangle
from reports.figures.made_frames import flaws, legend_names, texts, titled

from gredkit.reports.ablation_path import ablation_path
from gredkit.reports.effects import effects
from gredkit.reports.figures.effects import Effects, effects_figure
from gredkit.reports.figures.path import Path, path
from gredkit.reports.study import StudyData

DATASETS = ("digits", "molecules", "ring_transfer", "tree_match", "zinc", "peptides_struct")


def study(factors, datasets, seeds=3):
    """As many factors and datasets, with effects by chance."""
    names = ("variant.encoder", "K", "models.gred.glu", "models.gred.norm_placement", "variant.aggregator", "skip")
    axes = {
        name: (("lru", "lstm", "attention") if place == 0 else (0, 1)) for place, name in enumerate(names[:factors])
    }
    chance, frames = np.random.default_rng(factors), []
    for dataset in DATASETS[:datasets]:
        sizes = chance.standard_normal(factors) * 0.05

        def score(point, seed, sizes=sizes):
            steps = [axes[name].index(value) for name, value in zip(axes, point, strict=True)]
            return float(sizes @ steps) + 0.02 * chance.standard_normal()

        frames.append(crossed(axes, score, seeds, dataset=dataset, zinc="mae"))
    return pd.concat(frames, ignore_index=True)


@pytest.mark.parametrize(("factors", "datasets"), [(2, 1), (3, 6), (6, 2)])
def test_words_neither_overlap_nor_leave_the_paper(factors, datasets):
    frame = study(factors, datasets)
    drawn = [effects_figure(effects(frame)), path(frame, ablation_path(frame))]
    for figure in drawn:
        assert figure.get_figwidth() in (3.3, 6.9)
        assert flaws(figure) == []


def test_bars_are_the_shares():
    found = effects(simulated())
    axes = titled(effects_figure(found), "digits")
    shown = found[found["kind"] != "part of seeds"]
    bars = [patch for patch in axes.patches if isinstance(patch, Rectangle)]
    assert [bar.get_width() for bar in bars] == pytest.approx((100 * shown["share"]).clip(0, 100).tolist())
    assert [label.get_text() for label in axes.get_yticklabels()] == shown["term"].tolist()


def test_of_many_interactions_the_largest_are_shown_and_the_rest_is_said():
    figure = effects_figure(effects(study(6, 1)))
    assert any("the 6 largest of 16 interactions" in text for text in texts(figure))
    assert len(titled(figure, "digits").get_yticklabels()) == 6 + 6 + 1


def test_marks_of_the_path_are_the_means():
    frame = simulated().iloc[::-1].reset_index(drop=True)
    found = ablation_path(frame)
    axes = titled(path(frame, found), "digits")
    marks = [float(line.get_xydata()[0][0]) for line in axes.lines if line.get_marker() == "o"]
    assert marks == pytest.approx([found["previous"].iloc[0], *found["mean"]])
    assert "mean, interval of the step" in legend_names(path(frame, found))


def test_they_are_drawn_where_factors_are_crossed():
    frame = simulated().iloc[::-1].reset_index(drop=True)
    assert Effects().draw(StudyData("made", frame)) is not None
    assert Path().draw(StudyData("made", frame)) is not None
    one = (
        frame[frame["axis:K"] == 4]
        .assign(**{"axis:models.gred.skip": True})
        .drop_duplicates(["axis:variant.encoder", "seed"])
    )
    for figure in (Effects(), Path()):
        assert figure.draw(StudyData("made", one)) is None
        assert figure.draw(StudyData("made")) is None
    assert texts(effects_figure(effects(one))) == ["no shares of the variance yet"]
    assert texts(path(one, ablation_path(one))) == ["no path yet"]
