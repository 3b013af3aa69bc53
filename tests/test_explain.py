"""The command `explain`, and the distances that a report measures and keeps."""

import json

import pandas as pd
import pytest
from helpers.commands import fails_with_a_sentence, run
from helpers.stored import store
from helpers.studies import TinyStudy

from gredkit.data.datasets.ring_transfer import ring_transfer
from gredkit.reports.distance import FILE
from gredkit.reports.reading import read_study

SETTINGS = {"distance": 3, "graphs": 20}
FEW = ("--graphs", "3", "--nodes", "2")


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("stored") / "model"
    store(folder, ring_transfer(**SETTINGS), "ring_transfer", None, dataset_settings=SETTINGS)
    return folder


def explain(*arguments, cwd):
    return run("-m", "gredkit.explain", *map(str, arguments), cwd=cwd)


def test_a_model_and_one_node_of_it(model, tmp_path):
    result = explain("--model", model, "--graph", 5, "--node", 2, *FEW, cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    files = [tmp_path / line for line in result.stdout.splitlines()]
    assert {file.name for file in files} == {
        *(f"{name}.{kind}" for name in ("influence", "knock_out", "filter", "node") for kind in ("csv", "svg", "png")),
        "node_by_hop.csv",
    }
    assert all(file.parent == tmp_path / "explained/model" for file in files)
    tables = {file.stem: pd.read_csv(file) for file in files if file.suffix == ".csv"}
    assert tables["influence"]["hop"].tolist() == [0, 1, 2, 3]
    assert tables["filter"]["weight"].min() > 0
    assert tables["node"].set_index("node").loc[2, "hop"] == 0
    assert tables["node"]["share"].sum() == pytest.approx(1)
    assert tables["node"]["resistance"].tolist() == pytest.approx([2 * 4 / 6, 5 / 6, 0, 5 / 6, 2 * 4 / 6, 1.5])
    by_hop = tables["node_by_hop"]
    assert by_hop["nodes"].tolist() == [1, 2, 2, 1]
    assert by_hop["influence"].tolist() == pytest.approx(tables["node"].groupby("hop")["influence"].sum().tolist())
    assert by_hop["added_in_layer_1"].min() > 0
    for file in files:
        if file.suffix != ".csv":
            assert file.read_bytes().startswith(b"<?xml" if file.suffix == ".svg" else b"\x89PNG")


MISTAKES = {
    ("--graph", "20"): "ring_transfer has graphs 0 to 19, not 20",
    ("--graph", "-1"): "ring_transfer has graphs 0 to 19, not -1",
    ("--node", "6"): "graph 12 of ring_transfer has nodes 0 to 5, not 6",
    ("--hops", "2"): "--hops",
    ("--data", "tree_match"): "are not like those that this model was trained on",
    ("--data", "no_such"): "'no_such', which is unknown here",
}


@pytest.mark.parametrize("arguments", MISTAKES)
def test_mistakes_end_in_one_sentence(arguments, model, tmp_path):
    line = fails_with_a_sentence(explain("--model", model, *arguments, *FEW, cwd=tmp_path))
    assert MISTAKES[arguments] in line
    assert not list(tmp_path.iterdir())


def test_a_folder_or_a_store_that_does_not_exist(tmp_path):
    none = f"sqlite:///{tmp_path / 'none.db'}"
    assert "there is no database" in fails_with_a_sentence(explain("--run", "x", "--tracking-uri", none, cwd=tmp_path))
    assert "there is no folder" in fails_with_a_sentence(explain("--model", "nowhere", cwd=tmp_path))


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    study = TinyStudy(tmp_path_factory.mktemp("study"))
    assert study.run("--jobs", "1").returncode == 0
    return study


def test_a_report_looks_once_at_each_model(trained):
    """What it found is kept beside the model, and read the next time: also where it has been changed."""
    assert read_study(trained.tracker()).influence.empty
    first = read_study(trained.tracker(), distance=True)
    assert set(first.influence["id"]) == set(first.knock_out["id"]) == set(first.results["id"])
    run_id = str(first.results["run"].iloc[0])
    told = json.loads(trained.tracker().text(run_id, FILE))
    told["range_hops"] = 77.0
    changed = trained.folder / FILE
    changed.write_text(json.dumps(told))
    trained.tracker().client.log_artifact(run_id, str(changed))
    again = read_study(trained.tracker(), distance=True)
    assert (again.influence["range_hops"] == 77.0).sum() == len(told["influence"])
    changed.write_text("{}")  # damaged: measured again
    trained.tracker().client.log_artifact(run_id, str(changed))
    pd.testing.assert_frame_equal(read_study(trained.tracker(), distance=True).influence, first.influence)


def test_a_model_of_a_run(trained, tmp_path):
    run_id = str(read_study(trained.tracker()).results["run"].iloc[0])
    uri = "--tracking-uri", trained.uri
    result = explain("--run", run_id, *uri, *FEW, "--out", "here", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert "here/influence.csv" in result.stdout.splitlines()
    assert "node.csv" not in result.stdout
    assert "there is no run 'x'" in fails_with_a_sentence(explain("--run", "x", *uri, cwd=tmp_path))
