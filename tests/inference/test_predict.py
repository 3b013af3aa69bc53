import io
import json
import subprocess
import sys

import pandas as pd
import pytest
import torch
from helpers.commands import fails_with_a_sentence, run
from helpers.own_files import EXAMPLES, change, ten_paths
from helpers.stored import answers, edited, store

from gredkit.data.datasets.graph_folder import graph_folder
from gredkit.data.datasets.pattern_sbm import pattern_sbm
from gredkit.data.datasets.ring_transfer import ring_transfer
from gredkit.data.datasets.smiles_csv import smiles_csv
from gredkit.errors import command
from gredkit.predict import main
from gredkit.registry import DATASETS

OWN, FILE = EXAMPLES / "own_graphs", EXAMPLES / "solubility.csv"


@pytest.fixture
def predict(monkeypatch, capsys):
    """`python -m gredkit.predict` without the seconds that a new process takes."""

    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["predict", *map(str, arguments)])
        code = 0
        try:
            command(main)
        except SystemExit as end:
            code = int(end.code or 0)
        return subprocess.CompletedProcess(arguments, code, *capsys.readouterr())

    return call


@pytest.fixture
def own(tmp_path):
    store(tmp_path / "model", graph_folder(OWN), "graph_folder", dataset_settings={"path": str(OWN)})
    return tmp_path / "model"


def table(result):
    assert result.returncode == 0, result.stderr
    return pd.read_csv(io.StringIO(result.stdout))


def test_a_folder_of_graphs_by_the_names_of_its_owner(tmp_path, predict):
    task = graph_folder(OWN)
    model = store(tmp_path, task, "graph_folder")
    found = table(predict("--model", tmp_path, "--data", OWN))
    assert found["graph"].tolist() == pd.read_csv(OWN / "graphs.csv")["graph"].tolist()
    expected = answers(model, task).softmax(1)
    assert torch.equal(torch.tensor(found[["p_path", "p_ring"]].to_numpy()).float(), expected)


def test_nodes_by_the_names_of_their_owner(tmp_path, predict):
    folder = ten_paths(tmp_path / "own")
    nodes = [f"g{i},{node},{v},{v % 2}" for i in range(10) for v, node in enumerate("bca")]
    (folder / "nodes.csv").write_text("\n".join(["graph,node,cat_kind,y", *nodes]))
    task = graph_folder(folder, level="node")
    model = store(tmp_path / "model", task, "graph_folder")
    found = table(predict("--model", tmp_path / "model", "--data", folder))
    assert found["graph"].tolist() == [f"g{i}" for i in range(10) for _ in "abc"]
    assert found["node"].tolist() == list("bca") * 10
    assert torch.equal(torch.tensor(found[["p_0", "p_1"]].to_numpy()).float(), answers(model, task).softmax(1))


def test_smiles(tmp_path, predict):
    task = smiles_csv(FILE, targets="logp")
    model = store(tmp_path, task, "smiles_csv")
    (tmp_path / "new.csv").write_text(FILE.read_text().replace("smiles", "structure", 1))
    found = table(predict("--model", tmp_path, "--data", tmp_path / "new.csv", "--smiles", "structure"))
    assert list(found) == ["smiles", "logp"]
    assert found["smiles"].tolist() == pd.read_csv(FILE)["smiles"].tolist()
    assert torch.equal(torch.tensor(found["logp"].to_numpy()).float(), answers(model, task)[:, 0])


def test_a_function(tmp_path, predict, monkeypatch):
    monkeypatch.chdir(EXAMPLES)
    task = DATASETS["python_dataset"](target="my_dataset:one_ring_or_two")
    model = store(tmp_path, task, "python_dataset")
    found = table(predict("--model", tmp_path, "--data", "my_dataset:one_ring_or_two"))
    assert torch.equal(torch.tensor(found[["p_0", "p_1"]].to_numpy()).float(), answers(model, task).softmax(1))


@pytest.mark.parametrize(
    ("make", "settings"),
    [
        (ring_transfer, {"graphs": 20, "seed": 5}),
        (pattern_sbm, {"train": 3, "validation": 1, "test": 2, "patterns": 2, "seed": 5}),
    ],
)
def test_a_dataset_as_it_was_set_for_training_and_its_score(tmp_path, predict, make, settings):
    task = make(**settings)
    model = store(tmp_path, task, make.__name__, dataset_settings=settings)
    result = predict("--model", tmp_path, "--data", make.__name__, "--split", "test")
    found = table(result)
    assert found["graph"].unique().tolist() == list(task.splits["test"])
    outputs = answers(model, task)
    sizes = [1 if task.spec.level == "graph" else graph.num_nodes for graph in task.graphs]
    tested = torch.cat([outputs.split(sizes)[i] for i in task.splits["test"]])
    metric = task.objective.metric
    score = metric.score(tested, torch.cat([graph.y for graph in task.part("test")]))
    assert result.stderr == f"{make.__name__}, test: {metric.name} {score:.6g}\n"


def test_a_model_of_version_0_1_whose_dataset_had_a_metric(tmp_path, predict):
    """As in 0.1, where it was a setting of the dataset; the description of the model names it as well."""
    settings = {"graphs": 20, "seed": 5}
    task = ring_transfer(**settings)
    store(tmp_path, task, "ring_transfer", dataset_settings={**settings, "metric": "class_mean_accuracy"})
    edited(tmp_path, metric="class_mean_accuracy")
    result = predict("--model", tmp_path, "--data", "ring_transfer", "--split", "test")
    assert result.returncode == 0
    assert result.stderr.startswith("ring_transfer, test: class_mean_accuracy ")


def test_files(own, tmp_path, predict):
    shown = table(predict("--model", own, "--data", OWN))
    for out in (tmp_path / "out.csv", tmp_path / "out.parquet"):
        result = predict("--model", own, "--data", OWN, "--out", out)
        assert (result.returncode, result.stdout, result.stderr) == (0, "", "")
        read = pd.read_csv(out) if out.suffix == ".csv" else pd.read_parquet(out)
        pd.testing.assert_frame_equal(read, shown, check_dtype=False)


def test_mistakes_are_one_sentence(own, tmp_path, predict):
    for arguments, sentence in (
        (("--data", "rign_transfer"), "--data 'rign_transfer' is no folder, no file, no 'package.module:function'"),
        (("--data", OWN, "--out", "table.doc"), "--out table.doc ends neither in .csv nor in .parquet"),
        (("--data", OWN, "--out", "/no/where.csv"), "there is no folder '/no' to write where.csv to"),
        (("--data", OWN, "--split", "test"), "--split goes with the name of a dataset"),
        (("--data", FILE), "this model was trained on graph_folder, which does not say how SMILES become its graphs"),
        (("--data", "ring_transfer"), "the features of 'ring_transfer' are not those of 'graph_folder'"),
        (("--data", "nobody:knows"), "cannot import 'nobody'"),
        (("--data", OWN, "--import", "nobody"), "cannot import 'nobody'"),
        (("--data", OWN, "--device", "abacus"), "there is no device 'abacus'"),
        (("--data", OWN, "--batch-size", "0"), "--batch-size is a whole number from 1"),
    ):
        assert sentence in fails_with_a_sentence(predict("--model", own, *arguments))
    folder = ten_paths(tmp_path / "new")
    assert "there is no column 'cat_colour'" in fails_with_a_sentence(predict("--model", own, "--data", folder))
    assert "there is no model.json in" in fails_with_a_sentence(predict("--model", folder, "--data", OWN))


def test_graphs_with_a_mistake_can_be_left_out(tmp_path, predict, caplog):
    folder = ten_paths(tmp_path / "own")
    store(tmp_path / "model", graph_folder(folder), "graph_folder")
    change(folder / "nodes.csv", 2, "g0,a,9")
    said = fails_with_a_sentence(predict("--model", tmp_path / "model", "--data", folder))
    assert said.endswith("(use --on-error skip to leave it out)")
    found = table(predict("--model", tmp_path / "model", "--data", folder, "--on-error", "skip"))
    assert found["graph"].tolist() == [f"g{i}" for i in range(1, 10)]
    assert "left out 1 of 10 graphs" in caplog.text


# A run that MLflow keeps

TRACK = """
import os, sys
os.environ["MLFLOW_DISABLE_TELEMETRY"] = "true"
from mlflow import MlflowClient

client = MlflowClient(tracking_uri="sqlite:///" + os.path.abspath("mlflow.db"))
experiment = client.create_experiment("study", artifact_location="file://" + os.path.abspath("artifacts"))
for folder in ("model", "damaged", None):
    run = client.create_run(experiment).info.run_id
    if folder:
        client.log_artifacts(run, folder, "model")
    print(run)
"""


@pytest.fixture(scope="module")
def tracked(tmp_path_factory):
    """A folder with mlflow.db, and the ids of a run with a model, one with a damaged model, one without."""
    folder = tmp_path_factory.mktemp("tracked")
    for name in ("model", "damaged"):
        store(folder / name, graph_folder(OWN), "graph_folder")
    (folder / "damaged" / "weights.safetensors").write_bytes(b"no weights")
    result = run("-c", TRACK, cwd=folder)
    assert result.returncode == 0, result.stderr
    return folder, *result.stdout.split()


def test_the_model_of_a_run(tracked, predict):
    folder, good, *_ = tracked
    expected = table(predict("--model", folder / "model", "--data", OWN))
    files = sorted(folder.rglob("*"))
    found = run("-m", "gredkit.predict", "--run", good, "--data", str(OWN), cwd=folder)
    assert found.stderr == ""
    pd.testing.assert_frame_equal(table(found), expected)
    assert {*folder.rglob("*")} - {folder / "mlflow.db.lock"} == {*files}


MISTAKES = """
import json, sys
import gredkit
from gredkit.errors import UserError

for run_id, uri in json.loads(sys.argv[1]):
    try:
        gredkit.load(run_id, uri)
    except UserError as error:
        print(error)
"""


def test_runs_that_have_no_model(tracked, monkeypatch):
    folder, good, damaged, empty = tracked
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    (folder / "no_database.db").write_text("This is no database.")
    uri = f"sqlite:///{folder}/"
    tried = {
        "there is no run 'nobody' in sqlite:///": ("nobody", None),
        f"the run {empty!r} has no stored model: choose a run that has finished training": (empty, None),
        f"weights.safetensors in run {damaged} is damaged": (damaged, f"{uri}mlflow.db"),
        f"there is no database {folder}/none.db": (good, f"{uri}none.db"),
        f"{folder}/no_database.db is not an SQLite database": (good, f"{uri}no_database.db"),
    }
    result = run("-c", MISTAKES, json.dumps(list(tried.values())), cwd=folder)
    lines = result.stdout.splitlines()
    assert len(lines) == len(tried), result.stdout + result.stderr
    for sentence, line in zip(tried, lines, strict=True):
        assert sentence in line
    assert result.stderr == ""
    assert not (folder / "none.db").exists()
