"""Budgets in optimiser steps, and parts of datasets in the titles of figures."""

import pytest
from helpers.known_results import results
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image
from torch.utils.data import DataLoader

from gredkit.registry import REPORTS
from gredkit.reports.budget import GRAPHS, of_trials, paper_steps, steps
from gredkit.reports.parts import titled
from gredkit.reports.study import StudyData
from gredkit.reports.tables import markdown, summary

PART = "1,087 of 10,873 training graphs of peptides_func; 1,166 of 2,331 for validation; a rule"
PEPTIDES = {
    "dataset": "peptides_func_tenth", "setting:dataset": "subset", "note:subset": PART, "train_graphs": 1087,
    "setting:fit.batch_size": "32",
}  # fmt: skip


def peptides():
    """Trials on a tenth of Peptides-func."""
    scores = {("x", "lru"): [0.5, 0.6, 0.55], ("x", "rnn"): [0.4, 0.5, 0.45]}
    frame = results(scores, x="average_precision").assign(**PEPTIDES)
    return frame.assign(**{"axis:variant.encoder": frame["variant"]})


@given(st.integers(1, 500), st.integers(1, 64), st.integers(1, 5))
def test_steps_are_those_of_the_loader_of_training(graphs, batch_size, epochs):
    loader: DataLoader[int] = DataLoader(
        range(graphs), batch_size, drop_last=graphs > batch_size
    )  # as in gredkit.training.fit
    assert steps(graphs, batch_size, epochs) == len(loader) * epochs


@pytest.mark.parametrize(("dataset", "expected"), [("zinc", 624_000), ("peptides_func_lap_pe", 67_800), ("nci1", None)])
def test_the_papers_steps_follow_from_its_hyperparameters(dataset, expected):
    assert paper_steps(dataset) == expected


def test_every_dataset_of_the_papers_table_has_steps():
    assert all(paper_steps(dataset) for dataset in GRAPHS)


def test_a_report_says_the_steps_beside_the_papers():
    frame = peptides()
    assert of_trials(frame).iloc[0].tolist() == [33 * 30, 67_800]
    said = "Budget: 990 optimiser steps on peptides_func_tenth, the paper 67,800 (here 1.5 % of them)."
    assert said in markdown(frame)
    assert summary(frame)["steps"].tolist() == [990, 990]


def test_other_datasets_and_older_plans_say_nothing_of_steps():
    for frame in (results({("far", "lru"): [0.5]}).assign(train_graphs=100), peptides().drop(columns="train_graphs")):
        assert "Budget" not in markdown(frame)


def test_figures_name_the_part_of_a_dataset(tmp_path):
    study = StudyData("peptides", peptides(), diameters={"peptides_func_tenth": (57.0, 159.0)})
    files = REPORTS["figures"](study, tmp_path)
    pictures = [file for file in files if file.suffix == ".png"]
    assert len(pictures) > 2
    for file in pictures:
        with Image.open(file) as image:
            assert image.info["Title"].endswith(", on 1,087 of 10,873 training graphs of peptides_func")
    drawn = (tmp_path / "flavours.svg").read_text()
    assert all(words in drawn for words in ("peptides_func_tenth", "(1,087 of 10,873", "training graphs)"))


def test_names_change_in_all_frames_and_only_for_parts():
    study = StudyData("peptides", peptides(), diameters={"peptides_func_tenth": (57.0, 159.0)})
    name = "peptides_func_tenth (1,087 of 10,873 training graphs)"
    shown = titled(study)
    assert set(shown.results["dataset"]) == set(shown.diameters) == {name}
    whole = StudyData("zinc", results({("zinc", "lru"): [0.5]}))
    assert titled(whole) is whole
