"""Times and memory are compared only if every trial ran alone, and a reader learns who ran with compiled kernels."""

from typing import Any

import pandas as pd
import pytest
from helpers.html_tree import tree
from helpers.known_results import FLAVOURS, results
from helpers.page_studies import made_study
from reports.figures.made_frames import flavour_axes, results_frame

from gredkit.registry import FIGURES
from gredkit.reports.figures.cost import COSTS, cost
from gredkit.reports.page.page import page
from gredkit.reports.tables import csv, latex, markdown, summary
from gredkit.reports.timing import why_no_times, with_kernels

BUSY: dict[str, tuple[dict[str, Any], str]] = {
    "side by side": ({"jobs": 2}, "because up to 2 trials ran side by side: run the study with --jobs 1"),
    "other programs": ({"other_load": 0.43}, "because other programs used up to 43 % of the processor: run the study"),
    "older": ({"jobs": None}, "because it is not known whether every trial ran alone: run the study"),
    "not measured": ({"other_load": None}, "because it is not known whether every trial ran alone: run the study"),
}


@pytest.mark.parametrize("case", BUSY)
def test_one_trial_that_did_not_run_alone_leaves_all_times_and_memory_out(case):
    change, said = BUSY[case]
    frame = results(FLAVOURS)
    assert why_no_times(frame) == ""
    frame.loc[1, list(change)] = list(change.values())
    assert said in why_no_times(frame)
    for text in (markdown(frame), latex(frame)):
        assert "seconds" not in text
        assert "peak memory" not in text
        assert "Times and memory are left out" in text
        assert "parameters" in text
    assert summary(frame)[["seconds_per_epoch", "peak_mb"]].isna().all(axis=None)
    shown = tree(page(made_study(frame), []))
    heads = [head.text for head in shown.find("th")]
    assert "seconds" not in heads
    assert "seconds per epoch" not in heads
    assert "peak memory (MB)" not in heads
    assert "parameters" in heads
    assert said in shown.text


def test_times_and_memory_of_trials_that_ran_alone_are_there():
    frame = results(FLAVOURS)
    assert "seconds per epoch" in markdown(frame)
    assert "peak memory" in markdown(frame)
    assert "left out, because" not in markdown(frame)
    assert summary(frame)[["seconds_per_epoch", "peak_mb"]].notna().any().all()
    heads = [head.text for head in tree(page(made_study(frame), [])).find("th")]
    assert {"seconds", "seconds per epoch", "peak memory (MB)"} <= set(heads)


def test_a_trial_without_a_score_has_no_say():
    frame = results(FLAVOURS)
    frame.loc[frame["state"] != "finished", ["jobs", "other_load"]] = None
    assert "seconds per epoch" in markdown(frame)
    assert "Times and memory are left out" not in page(made_study(frame), [])


@pytest.mark.parametrize("case", BUSY)
def test_the_figure_of_costs_leaves_time_and_memory_out_too(case):
    change, said = BUSY[case]
    frame = results_frame(flavour_axes(), ["digits"])
    assert [axes.get_xlabel() for axes in cost(frame).axes] == list(COSTS.values())
    assert "Times and memory are left out" not in FIGURES["cost"]().caption_of(made_study(frame))
    busy = made_study(frame.assign(**change))
    assert [axes.get_xlabel() for axes in cost(busy.results).axes] == ["parameters ↓"]
    assert said in FIGURES["cost"]().caption_of(busy)


@pytest.mark.parametrize(
    ("told", "said"),
    [
        ({"lru": ["yes", "yes"], "lstm": ["no: x", "no: x"]}, "With compiled kernels: lru. Without: lstm."),
        ({"lru": ["yes", "no: no compiler"]}, "With compiled kernels in some trials only: lru."),
        ({"lru": ["no: no compiler; then yes"]}, "With compiled kernels in some trials only: lru."),
        ({"lru": ["yes"], "gru": ["yes"]}, "All variants ran with compiled kernels."),
        ({"lru": ["no: no compiler"], "gru": ["no: no compiler"]}, "All variants ran without compiled kernels."),
        ({"lru": ["", None]}, ""),
        (
            {"a": ["yes"], "b": ["yes", ""], "c": ["no: x"], "d": ["no: x", "yes"]},
            "With compiled kernels: a, b. Without: c. With compiled kernels in some trials only: d.",
        ),
        (
            {"lru": ["yes"], "K=1, b": ["no: x"], "K=2, b": ["no: x"]},
            "With compiled kernels: lru. Without: K=1, b; K=2, b.",
        ),
        (
            {"lru": ["yes"], **{f"v{i}": ["no: x"] for i in range(13)}},
            "With compiled kernels: lru. Without: 13 variants.",
        ),
    ],
)
def test_who_ran_with_compiled_kernels(told, said):
    rows = [(variant, one) for variant, all_told in told.items() for one in all_told]
    frame = pd.DataFrame(rows, columns=["variant", "kernels"])
    assert with_kernels(frame) == said
    summed = frame.fillna("").groupby("variant", sort=False)["kernels"]
    summed = summed.agg(lambda some: "; ".join(dict.fromkeys(filter(None, some))))
    assert with_kernels(summed.reset_index()) == said


def test_the_caption_of_costs_names_them():
    said = FIGURES["cost"]().caption_of(made_study(results_frame(flavour_axes(["lru", "lstm"]), ["digits"])))
    assert said.endswith("lower cost. With compiled kernels: lru. Without: lstm.")


def test_the_csv_says_how_the_times_were_measured():
    header = csv(results(FLAVOURS)).splitlines()[0].split(",")
    assert {"jobs", "other_load", "kernels"} <= set(header)
