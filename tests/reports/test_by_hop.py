"""Influence and knock-out by hop, as the report tells them."""

import pandas as pd
import pytest
from reports.figures.made_frames import flavour_axes, influence_frame, knock_out_frame, results_frame

from gredkit.registry import REPORTS
from gredkit.reports.by_hop import influence_by_hop, knock_out_by_hop, relative
from gredkit.reports.figures.knock_out import KnockOut
from gredkit.reports.study import StudyData

RESULTS = results_frame(flavour_axes(["lru", "lstm"]), ["digits"], seeds=3)


def test_influence_is_relative_to_hop_0_of_the_same_trial():
    rows = influence_frame(RESULTS, hops=2)
    rows.loc[rows["variant"] == "lstm", "influence"] *= [0.0, 1.0, 1.0] * 3
    found = rows.assign(relative=relative(rows))
    lru = found[found["variant"] == "lru"]
    assert lru[lru["hop"] == 1]["relative"].tolist() == pytest.approx([0.5, 0.55, 0.6])
    assert found[found["variant"] == "lstm"]["relative"].isna().all()  # nothing of the node itself: no ratio
    by_hop = influence_by_hop(lru).set_index("hop")
    assert by_hop.loc[1, ["seeds", "relative", "relative_sd"]].tolist() == pytest.approx([3, 0.55, 0.05])
    assert by_hop.loc[0, "influence"] == pytest.approx(3.0)


def test_the_change_of_a_score_is_that_of_the_same_trial():
    found = knock_out_by_hop(knock_out_frame(RESULTS, hops=3))
    lru = found[(found["variant"] == "lru") & (found["hidden"] == "features")]
    assert lru["hop"].tolist() == [pd.NA, 0, 1, 2, 3]
    assert lru["change"].tolist() == pytest.approx([0, -0.3, -0.15, -0.1, -0.075])
    assert lru["change_sd"].tolist() == pytest.approx([0] * 5, abs=1e-12)
    assert lru["score_sd"].tolist() == pytest.approx([0.09] * 5)
    assert set(zip(found["graphs"], found["answers"], strict=True)) == {(32, 64)}


def test_the_caption_says_how_large_the_sample_is_if_that_was_recorded():
    rows = knock_out_frame(RESULTS, hops=3)
    caption = KnockOut().caption_of(StudyData("made", RESULTS, knock_out=rows))
    assert caption.endswith("Each score is of a sample of 32 graphs with 64 answers.")
    older = rows.assign(graphs=None, answers=None)
    assert KnockOut().caption_of(StudyData("made", RESULTS, knock_out=older)) == KnockOut.caption
    assert knock_out_by_hop(older)["graphs"].isna().all()


def test_a_study_without_models_has_no_files(tmp_path):
    assert REPORTS["distance"](StudyData("made", RESULTS), tmp_path) == []
    study = StudyData("made", RESULTS, influence=influence_frame(RESULTS), knock_out=knock_out_frame(RESULTS))
    written = REPORTS["distance"](study, tmp_path)
    assert [file.name for file in written] == ["distance.csv", "knock_out.csv"]
    assert len(pd.read_csv(written[0])) == 2 * 13
    assert len(pd.read_csv(written[1])) == 2 * 2 * 14
