import hashlib
import json
from dataclasses import replace

import numpy as np
import pytest
import torch
from helpers.commands import run
from helpers.own_files import EXAMPLES, ten_paths
from helpers.stored import answers, composed, edited, model_for, store

import gredkit
from gredkit.data.datasets.graph_folder import graph_folder
from gredkit.data.datasets.ring_transfer import ring_transfer
from gredkit.data.objectives import KINDS, objective
from gredkit.data.task import GraphSpec
from gredkit.errors import UserError
from gredkit.inference.about import CHECKSUM, FORMAT, SavedModel
from gredkit.inference.mlmodel import MLMODEL
from gredkit.inference.saved import ABOUT, WEIGHTS, load_folder, save
from gredkit.registry import AGGREGATORS, ENCODERS, POSITIONAL, SEQUENCES

OWN = EXAMPLES / "own_graphs"
PART = [("encoder", name) for name in ENCODERS] + [("aggregator", name) for name in AGGREGATORS]
PART += [("positional", name) for name in POSITIONAL] + [("sequence", name) for name in SEQUENCES]


@pytest.fixture(scope="module")
def task():
    return graph_folder(OWN)


@pytest.fixture
def folder(tmp_path, task):
    store(tmp_path / "model", task, "graph_folder")
    return tmp_path / "model"


@pytest.mark.parametrize(("kind", "name"), PART)
def test_every_component_answers_bit_for_bit_as_before(tmp_path, task, kind, name):
    model = store(tmp_path, task, "graph_folder", **{kind: name})
    loaded = load_folder(tmp_path)
    assert not loaded.model.training
    assert torch.equal(loaded.outputs(task.graphs), answers(model, task))


@pytest.mark.parametrize("features", ["categorical", "embedding"])
def test_feature_encoders_too(tmp_path, task, features):
    model = store(tmp_path, task, "graph_folder", features=features)
    assert torch.equal(load_folder(tmp_path).outputs(task.graphs), answers(model, task))


def test_nothing_but_the_folder_is_read(tmp_path):
    """Neither gin, nor the data, nor the weights that happen to be drawn."""
    own = ten_paths(tmp_path / "own")
    task = graph_folder(own)
    expected = answers(store(tmp_path / "model", task, "graph_folder"), task)
    for file in own.iterdir():
        file.unlink()
    torch.manual_seed(99)
    assert torch.equal(load_folder(tmp_path / "model").outputs(task.graphs), expected)


def test_what_is_known_of_the_training_comes_back(folder, task):
    about = load_folder(folder).about
    known = SavedModel.of(task, composed(task.spec), 3, "graph_folder")
    assert replace(about, weights_sha256="") == known
    assert about.spec == GraphSpec(nodes=(2,), edges=1, outputs=2)
    assert about.reading == {"nodes": {"cat_colour": 2}, "edges": {"x_length": None}}
    assert (about.task, about.metric, about.larger_is_better) == ("classification", "accuracy", True)
    assert (about.class_names, about.target_columns) == (("path", "ring"), ("y",))
    assert about.version == gredkit.__version__


@pytest.mark.parametrize("kind", KINDS)
def test_an_objective_knows_its_kind(kind):
    assert objective(kind).kind == kind


def test_files_hold_plain_numbers_and_json(folder):
    assert sorted(file.name for file in folder.iterdir()) == [MLMODEL, ABOUT, WEIGHTS]
    assert json.loads((folder / ABOUT).read_text())["format"] == FORMAT
    content = (folder / WEIGHTS).read_bytes()
    size = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + size])
    assert {entry["dtype"] for entry in header.values()} == {"F32"}
    assert len(content) == 8 + size + sum(4 * int(np.prod(entry["shape"])) for entry in header.values())


def test_weights_keep_their_precision_and_may_be_shared(tmp_path, task):
    composition = composed(task.spec)
    model = model_for(task, composition).double()
    model.layers[0].encoder.out_im = model.layers[0].encoder.out_re
    save(tmp_path, model, SavedModel.of(task, composition, 3, "graph_folder"))
    loaded = load_folder(tmp_path).model
    assert {parameter.dtype for parameter in loaded.parameters()} == {torch.float64}
    assert torch.equal(loaded.layers[0].encoder.out_im, model.layers[0].encoder.out_re)


def test_settings_that_json_cannot_keep_are_a_sentence(tmp_path, task):
    with pytest.raises(UserError, match=r"the model cannot be stored: .*is function, which JSON cannot store"):
        store(tmp_path, task, "graph_folder", dataset_settings={"path": store})
    assert not list(tmp_path.iterdir())
    store(tmp_path, task, "graph_folder", dataset_settings={"path": OWN, "seed": np.int64(1)})
    assert load_folder(tmp_path).about.dataset_settings == {"path": str(OWN), "seed": 1}


# Mistakes


def test_a_newer_format(folder):
    edited(folder, format=FORMAT + 1, version="9.1", colour="blue")
    with pytest.raises(UserError, match=r"model.json in .*: it was written by a newer gredkit, '9.1': update gredkit$"):
        load_folder(folder)


@pytest.mark.parametrize("text", ["", "{", "[1, 2]", "{}", '{"format": 1}', '{"format": "one"}'])
def test_a_damaged_description(folder, text):
    (folder / ABOUT).write_text(text)
    with pytest.raises(UserError, match=r"model.json in .* is damaged \(.*\): copy or store the model again$"):
        load_folder(folder)


@pytest.mark.parametrize("keep", [0, 7, 100, -1])
def test_damaged_weights(folder, keep):
    (folder / WEIGHTS).write_bytes((folder / WEIGHTS).read_bytes()[:keep])
    with pytest.raises(UserError, match=r"weights.safetensors in .* is damaged \(.*\): copy or store the model again$"):
        load_folder(folder)


def test_weights_of_another_model(folder, tmp_path):
    store(tmp_path / "other", ring_transfer(graphs=20), "ring_transfer")
    (tmp_path / "other" / WEIGHTS).rename(folder / WEIGHTS)
    with pytest.raises(
        UserError, match=r"weights.safetensors in .* does not fit the model that model.json describes"
    ) as said:
        load_folder(folder)
    assert "\n" not in str(said.value)


@pytest.mark.parametrize("name", [ABOUT, WEIGHTS])
def test_a_missing_file(folder, name):
    (folder / name).unlink()
    with pytest.raises(UserError, match=f"there is no {name} in .*: name the folder or the run of a stored model"):
        load_folder(folder)


def test_a_component_that_nobody_registers(folder):
    told = json.loads((folder / ABOUT).read_text())["composition"]
    edited(folder, composition={**told, "encoder": {"name": "lrv", "settings": {}}})
    with pytest.raises(UserError, match="unknown encoder 'lrv': did you mean 'lru'"):
        load_folder(folder)
    edited(folder, composition={**told, "encoder": {"name": "lru", "settings": {"colour": 1}}})
    with pytest.raises(UserError, match=r"encoders.lru has no setting 'colour': choose from"):
        load_folder(folder)


# Components of the user's own

MODULE = """
from gredkit.nn.encoders.mean import Mean
from gredkit.registry import ENCODERS


@ENCODERS.register("their_mean")
class TheirMean(Mean):
    pass
"""
LOAD = """
from gredkit.errors import UserError
from gredkit.inference.saved import load_folder
try:
    load_folder("model")
except UserError as error:
    print(error)
print(load_folder("model", modules=["their_parts"]).model.layers[0].encoder.__module__)
"""


def test_a_module_of_the_users_own_is_imported_if_they_name_it(tmp_path, folder):
    """Though it lies where it would be found."""
    told = json.loads((folder / ABOUT).read_text())["composition"]
    mean = {"name": "their_mean", "settings": {}}
    edited(folder, composition={**told, "encoder": mean}, modules=["their_parts"])
    (tmp_path / "their_parts.py").write_text(MODULE)
    store(tmp_path / "mean", graph_folder(OWN), "graph_folder", encoder="mean")
    (tmp_path / "mean" / WEIGHTS).rename(folder / WEIGHTS)
    edited(folder, weights_sha256=hashlib.sha256((folder / WEIGHTS).read_bytes()).hexdigest())
    result = run("-c", LOAD, cwd=tmp_path)
    asked, imported = result.stdout.splitlines()
    assert "needs the encoder 'their_mean' of a module" in asked
    assert "give --import their_parts (in Python, modules=['their_parts'])" in asked
    assert imported == "their_parts"


def test_a_model_of_format_1_has_no_checksum_and_says_so(folder, task, caplog):
    expected = load_folder(folder).outputs(task.graphs)
    told = json.loads((folder / ABOUT).read_text())
    old = {name: value for name, value in told.items() if name not in (CHECKSUM, "weights_sha256")}
    (folder / ABOUT).write_text(json.dumps({**old, "format": 1}))
    assert torch.equal(load_folder(folder).outputs(task.graphs), expected)
    assert "without a checksum, so damage to its weights would not be noticed" in caplog.text


def test_a_model_of_format_3_knows_neither_sequences_nor_switches(folder, task):
    expected = load_folder(folder).outputs(task.graphs)
    old = json.loads((folder / ABOUT).read_text())["composition"]
    del old["sequence"]
    old["encoder"]["settings"] = {"state_dim": None, "r_min": 0.9, "r_max": 1.0, "max_phase": 6.28, "mode": "auto"}
    edited(folder, format=3, composition=old)
    assert torch.equal(load_folder(folder).outputs(task.graphs), expected)


def test_a_module_that_is_gone_is_not_missed_if_its_components_are_there(folder):
    edited(folder, modules=["gone_with_the_wind"])
    assert load_folder(folder).about.modules == ("gone_with_the_wind",)


def test_a_task_is_described_by_its_notes(task):
    plain = replace(task, notes={}, reading={})
    about = SavedModel.of(plain, composed(task.spec), None, "own")
    assert about.output_names == [0, 1]
    assert replace(about, task="regression").output_names == ["predicted_0", "predicted_1"]
