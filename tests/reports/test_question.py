import pytest
from helpers.commands import ROOT
from helpers.known_results import results

from gredkit.reports.question import question
from gredkit.reports.study import StudyData

FRAME = results({("far", "lru"): [0.5], ("near", "lru"): [0.5]})


@pytest.mark.parametrize(
    ("header", "asked"),
    [
        ("# ablations/k_hops.gin: how far should a node look? (paper, figure 3)\n", "How far should a node look?"),
        ("# my.gin: can it count? With and without a gate\nK = 3\n", "Can it count?"),
        ("#mine.gin: width against depth. Long\n", "Width against depth"),
    ],
)
def test_the_first_line_of_the_file_asks(header, asked):
    assert question(StudyData("made", FRAME, files={"a.gin": header})) == asked


@pytest.mark.parametrize("header", ["", "K = 3\n# a.gin: why?", "# a comment\n", f"# a.gin: {'very ' * 40}long?"])
def test_else_it_is_made_from_what_varies(header):
    study = StudyData("made", FRAME, files={"a.gin": header})
    assert question(study) == "Which variant is best on far and near?"
    frame = FRAME.assign(**{"axis:variant.encoder": ["lru", "rnn"], "axis:K": [1, 2]})
    asked = "How does the test score on far and near depend on encoder and K?"
    assert question(StudyData("made", frame, files={"a.gin": header})) == asked


def test_every_study_that_is_shipped_asks_something():
    for path in ROOT.glob("ablations/*.gin"):
        asked = question(StudyData("shipped", FRAME, files={path.name: path.read_text()}))
        assert not asked.startswith("Which variant is best on far"), path
