import numpy as np
import pandas as pd
import pytest
from reports.figures.made_frames import (
    EIGHT,
    LONG,
    SEVEN,
    curves_frame,
    eigenvalues_frame,
    flavour_axes,
    flaws,
    hop_weights_frame,
    influence_frame,
    k_axes,
    knock_out_frame,
    results_frame,
    texts,
)

from gredkit.reports.figures.axes import axes
from gredkit.reports.figures.cost import cost
from gredkit.reports.figures.differences import differences
from gredkit.reports.figures.distance import distance
from gredkit.reports.figures.eigenvalues import eigenvalues
from gredkit.reports.figures.flavours import flavours
from gredkit.reports.figures.hop_filter import hop_filter
from gredkit.reports.figures.k_ablation import k_ablation
from gredkit.reports.figures.knock_out import knock_out
from gredkit.reports.figures.learning_curves import learning_curves
from gredkit.reports.figures.pairs import pairs
from gredkit.reports.figures.ranks import ranks

DIAMETERS = {"digits": (7, 11), "zinc": (12, 22), "peptides_func": (57, 159)}
REFERENCES = {"zinc": [("GRED, paper, 2000 epochs", 0.4)], "cifar10": [("GRED, paper, 200 epochs", 0.76)]}
FIGURES = {
    "k_ablation": lambda results: k_ablation(results, DIAMETERS, REFERENCES),
    "flavours": lambda results: flavours(results, REFERENCES),
    "eigenvalues": lambda results: eigenvalues(results, eigenvalues_frame(results)),
    "hop_filter": lambda results: hop_filter(
        results, hop_weights_frame(results), eigenvalues_frame(results), DIAMETERS
    ),
    "hop_filter, older": lambda results: hop_filter(results, pd.DataFrame(), eigenvalues_frame(results), DIAMETERS),
    "distance": lambda results: distance(influence_frame(results)),
    "knock_out": lambda results: knock_out(results, knock_out_frame(results)),
    "learning_curves": lambda results: learning_curves(results, curves_frame(results)),
    "cost": cost,
    "axes": axes,
    "pairs": pairs,
    "ranks": ranks,
    "differences": differences,
    "differences, narrow": lambda results: differences(results, is_narrow=True),
}
LOST = {("K=4", seed): "failed" for seed in range(3)} | {("K=2", 1): "diverged"}
BROKEN = {("rnn", seed): "failed" for seed in range(3)} | {("lstm", 1): "diverged"}
CASES = {
    "one trial": results_frame(k_axes([4]), ["digits"], seeds=1),
    "one seed": results_frame(k_axes(), seeds=1),
    "lost": results_frame(k_axes(), states=LOST),
    "seven datasets": results_frame(k_axes([1, 2, 4, 8, 16, 40, None]), SEVEN, seeds=2),
    "the whole dataset": results_frame(k_axes([1, 2, 4, 8, "dataset"]), SEVEN, seeds=2),
    "both diameters": results_frame(k_axes([1, 2, 8, None, "dataset"]), ["digits", "zinc"]),
    "eight variants": results_frame(flavour_axes(EIGHT), ["digits", "zinc"], states=BROKEN),
    "long names": results_frame(flavour_axes(LONG), ["digits"], states={(LONG[3], 0): "failed"}),
}

# Cases that show no more than others do.
SPARED = {
    **dict.fromkeys(("eigenvalues", "hop_filter", "hop_filter, older"), ("lost", "eight variants")),
    **dict.fromkeys(("distance", "knock_out"), ("one seed", "lost", "both diameters", "the whole dataset")),
    "cost": ("one seed", "lost"),
}


@pytest.mark.parametrize(
    ("figure", "case"),
    [(figure, case) for figure in FIGURES for case in CASES if case not in SPARED.get(figure, ())],
)
def test_words_neither_overlap_nor_leave_the_paper(figure, case):
    drawn = FIGURES[figure](CASES[case])
    assert drawn.get_figwidth() in (3.3, 6.9)
    assert flaws(drawn) == []


@pytest.mark.parametrize("figure", FIGURES)
@pytest.mark.parametrize("columns", [[], list(CASES["one seed"].columns)])
def test_an_empty_frame_says_so(figure, columns):
    (said,) = texts(FIGURES[figure](pd.DataFrame(columns=columns)))
    assert said.startswith("no ")
    assert "yet" in said


@pytest.mark.parametrize("figure", ["k_ablation", "flavours", "cost", "axes"])
@pytest.mark.parametrize("state", ["failed", "nan"])
def test_when_all_failed_every_variant_is_named(figure, state):
    results = results_frame(k_axes([1, 4]))
    results = results.assign(state="failed") if state == "failed" else results.assign(test=np.nan)
    (said,) = texts(FIGURES[figure](results))
    fate = "failed" if state == "failed" else "without a score"
    assert said == f"no finished trials yet\nK=1: 6 {fate}\nK=4: 6 {fate}"


@pytest.mark.parametrize("figure", ["flavours", "learning_curves", "cost", "axes"])
def test_a_variant_whose_trials_all_failed_is_named(figure):
    words = " ".join(texts(FIGURES[figure](CASES["eight variants"]))).replace("\n", " ")
    assert "rnn" in words
    assert "failed" in words


@pytest.mark.parametrize("figure", FIGURES)
def test_the_frame_is_left_as_it_was(figure):
    results = results_frame(k_axes([1, None]), states={("K=1", 0): "diverged"})
    before = results.copy(deep=True)
    FIGURES[figure](results)
    pd.testing.assert_frame_equal(results, before)
