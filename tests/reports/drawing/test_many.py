"""Of very many variants figures show the first and the best, and say that there are more."""

import pytest
from reports.figures.made_frames import curves_frame, flavour_axes, results_frame, texts

from gredkit.reports.drawing.many import MOST, fewer
from gredkit.reports.generators.figures import drawn
from gredkit.reports.study import StudyData

MANY = [f"v{i:03}" for i in range(60)]


def test_few_variants_are_all_there():
    results = results_frame(flavour_axes(MANY[:MOST]), ["digits"])
    shown, said = fewer(results, results["variant"], "variant")
    assert len(shown) == len(results)
    assert not said


@pytest.mark.parametrize("dataset", ["digits", "zinc"])  # larger is better, smaller is better
def test_of_many_the_first_and_the_best_are_shown(dataset):
    results = results_frame(flavour_axes(MANY), [dataset])  # each is some larger than the one before
    results["test"] = results["variant"].map(MANY.index) / len(MANY)
    shown, said = fewer(results, results["variant"], "variant")
    best = MANY[-MOST + 1 :] if dataset == "digits" else MANY[1:MOST]
    assert list(shown["variant"].unique()) == [MANY[0], *best]
    assert said == f"Shown are the first variant and the best {MOST - 1} of 60; table.csv has all."


def test_a_variant_without_a_score_is_last():
    results = results_frame(flavour_axes(MANY), ["digits"], states={(MANY[-1], seed): "failed" for seed in range(3)})
    shown, _ = fewer(results, results["variant"], "variant")
    assert MANY[-1] not in set(shown["variant"])


def test_every_figure_of_many_says_so_and_stays_small():
    results = results_frame(flavour_axes(MANY), ["digits"], seeds=1)
    for name, _, figure in drawn(StudyData("many", results, curves_frame(results, 2))):
        assert any("of 60; table.csv has all" in " ".join(text.split()) for text in texts(figure)), name
        assert figure.get_figheight() < 12


def test_a_map_of_too_many_values_is_not_drawn():
    axes = {f"{K} {rate}": {"K": K, "fit.learning_rate": rate} for K in (1, 2) for rate in range(1, 40)}
    results = results_frame(axes, ["digits"], seeds=1)
    figures = {name: figure for name, _, figure in drawn(StudyData("many", results))}
    assert list(figures) == ["differences", "k_ablation", "flavours", "path", "cost"]
    (said,) = [text for text in texts(figures["flavours"]) if "Shown are" in text]
    assert "There is no map of K and learning_rate: one of them has more than 24 values." in " ".join(said.split())
