import logging

import pytest
from helpers.own_files import EXAMPLES, assert_learns, assert_same_graphs, change, let_rdkit_speak, write
from rdkit import Chem
from rdkit.Chem.Crippen import MolLogP  # type: ignore[attr-defined]

from gredkit.data.datasets.smiles_csv import smiles_csv
from gredkit.errors import UserError

FILE = EXAMPLES / "solubility.csv"
ROWS = ["C,no,1,0.5,train", "CC,yes,0,1.5,train", "CCC,no,1,2.5,train", "CCO,yes,,3.5,validation", "CO,no,0,4.5,test"]


@pytest.fixture
def file(tmp_path):
    write(tmp_path, {"some.csv": ["smiles,word,yes,number,split", *ROWS]})
    return tmp_path / "some.csv"


def test_the_example_is_read_and_its_targets_are_what_rdkit_computes():
    task = smiles_csv(FILE, targets="logp")
    assert task.name == "solubility"
    assert (len(task.spec.nodes), len(task.spec.edges), task.spec.outputs) == (9, 3, 1)
    assert {split: len(part) for split, part in task.splits.items()} == {"train": 22, "validation": 3, "test": 3}
    smiles = [line.split(",")[1] for line in FILE.read_text().splitlines()[1:]]
    for text, graph in zip(smiles, task.graphs, strict=True):
        molecule = Chem.MolFromSmiles(text)
        assert graph.num_nodes == molecule.GetNumAtoms()
        assert graph.num_edges == 2 * molecule.GetNumBonds()
        assert graph.y.shape == (1, 1)
        assert graph.y.item() == pytest.approx(MolLogP(molecule), abs=1e-4)
    assert_learns(task)


def test_classes_may_be_words(file):
    task = smiles_csv(file, targets=["word"], task="classification")
    assert task.notes["class_names"] == ("no", "yes")
    assert [graph.y.tolist() for graph in task.graphs] == [[0], [1], [0], [1], [0]]
    assert_learns(task)


def test_labels_may_be_unknown(file):
    task = smiles_csv(file, targets=["yes"], task="labels")
    assert [graph.y.isnan().item() for graph in task.graphs] == [False, False, False, True, False]
    assert_learns(task)


def test_several_targets_and_a_given_split(file):
    task = smiles_csv(file, targets=("number", "number"))
    assert task.graphs[1].y.tolist() == [[1.5, 1.5]]
    assert task.splits == {"train": [0, 1, 2], "validation": [3], "test": [4]}
    assert task.notes["split"] == "given"


def test_the_seed_draws_what_is_not_given():
    tasks = [smiles_csv(FILE, targets="logp", seed=seed) for seed in (1, 1, 2)]
    assert tasks[0].splits == tasks[1].splits != tasks[2].splits


LINES = {
    "not SMILES": ("C1CC,no,1,1,train", "'C1CC' is not a molecule (it is not SMILES): correct it"),
    "chemistry": ("CN(C)(C)C,no,1,1,train", "'CN(C)(C)C' is not a molecule (Explicit valence for atom # 1 N, 4,"),
    "no SMILES": (",no,1,1,train", "'smiles' is empty: every row needs one"),
    "no target": ("CCC,no,1,,train", "'number' is empty: write a number"),
    "word as a target": ("CCC,no,1,much,train", "'much' in 'number' is not a finite number: write a number"),
    "unknown split": ("CCC,no,1,1,training", "'training' in 'split' is not a split: write train, validation, test"),
    "cells too many": ("CCC,no,1,1,train,2", "6 cells, but the header has 5: put a cell that has a comma in quotes"),
}


@pytest.mark.parametrize(("text", "sentence"), LINES.values(), ids=LINES)
def test_a_wrong_line_is_named_or_left_out(file, caplog, capfd, text, sentence):
    whole = smiles_csv(file, targets="number")
    change(file, 4, text)
    let_rdkit_speak(capfd)
    with pytest.raises(UserError) as caught:
        smiles_csv(file, targets="number")
    assert str(caught.value).startswith(f"{file}, line 4: {sentence}")
    assert "\n" not in str(caught.value)
    with caplog.at_level(logging.WARNING):
        task = smiles_csv(file, targets="number", on_error="skip")
    assert_same_graphs(task.graphs, whole.graphs[:2] + whole.graphs[3:])
    assert task.splits == {"train": [0, 1], "validation": [2], "test": [3]}
    assert task.notes["left_out"] == 1
    (reason,) = task.notes["left_out_because"]
    assert reason.startswith(f"{file}, line 4: {sentence}")
    assert [record.getMessage() for record in caplog.records] == [
        f"some: left out 1 of 5 molecules; the first reason: {reason}"
    ]
    assert capfd.readouterr() == ("", "")  # RDKit says nothing itself


@pytest.mark.parametrize("on_error", ["raise", "skip"])
@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({}, "some.csv, line 1: there is no column 'y': add it, or rename one of these: smiles, word, yes, number,"),
        ({"smiles": "SMILES"}, "some.csv, line 1: there is no column 'SMILES'"),
        ({"targets": ()}, "targets is empty"),
        (
            {"targets": ("word", "yes"), "task": "classification"},
            "classification reads one target column, not word, yes",
        ),
    ],
)
def test_options_are_checked(file, options, sentence, on_error):
    with pytest.raises(UserError) as caught:
        smiles_csv(file, on_error=on_error, **options)
    assert sentence in str(caught.value)


def test_the_file_must_be_there(tmp_path):
    with pytest.raises(UserError, match="which file of SMILES"):
        smiles_csv()
    with pytest.raises(UserError, match=r"there is no file '.*none.csv'"):
        smiles_csv(tmp_path / "none.csv", on_error="skip")


def test_when_nothing_is_left_it_is_said_why(file):
    with pytest.raises(
        UserError, match=r"some: nothing is left of 5 of 5 molecules; the first reason: .*, line 2: 'no'"
    ):
        smiles_csv(file, targets="word", on_error="skip")
