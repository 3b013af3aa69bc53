"""Stored models as MLflow loads and serves them: the same predictions, from tables and from graphs of PyG."""

import json
import os
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import mlflow
import pandas as pd
import pytest
from helpers.commands import Command
from helpers.mlflow_server import free_port
from helpers.own_files import EXAMPLES
from helpers.stored import store
from mlflow.exceptions import MlflowException
from torch_geometric.data import Data

from gredkit.data.datasets.graph_folder import graph_folder
from gredkit.data.datasets.ring_transfer import ring_transfer
from gredkit.data.datasets.smiles_csv import smiles_csv
from gredkit.inference.saved import load_folder

OWN, FILE = EXAMPLES / "own_graphs", EXAMPLES / "solubility.csv"


def own_graphs() -> pd.DataFrame:
    """The example as one table, as one would send it."""
    graphs = pd.read_csv(OWN / "graphs.csv")[["graph"]]
    for name in ("nodes", "edges"):
        of_graph = dict(list(pd.read_csv(OWN / f"{name}.csv").groupby("graph")))
        rows = [of_graph.get(graph, pd.DataFrame(columns=["graph"])) for graph in graphs["graph"]]
        graphs[name] = [one.drop(columns="graph").to_dict("records") for one in rows]
    return graphs


def as_lists(graphs: list[Data]) -> pd.DataFrame:
    return pd.DataFrame([{key: graph[key].tolist() for key in ("x", "edge_index")} for graph in graphs])


def assert_equal(found: pd.DataFrame, expected: pd.DataFrame) -> None:
    pd.testing.assert_frame_equal(found.reset_index(drop=True), expected.reset_index(drop=True), check_dtype=False)


def test_a_table_of_smiles_and_graphs_of_pyg(tmp_path):
    task = smiles_csv(FILE, targets="logp")
    store(tmp_path, task, "smiles_csv")
    model, trained = mlflow.pyfunc.load_model(str(tmp_path)), load_folder(tmp_path)
    smiles = pd.read_csv(FILE)["smiles"]
    found = model.predict(pd.DataFrame({"smiles": smiles, "something": "else"}))
    assert found["smiles"].tolist() == smiles.tolist()
    expected = trained.predict(task.graphs)
    assert found["logp"].tolist() == expected["logp"].tolist()
    assert_equal(model.predict(task.graphs), expected)
    assert_equal(model.predict(task.graphs[0]), trained.predict(task.graphs[:1]))


def test_a_table_of_nodes_and_edges(tmp_path):
    task = graph_folder(OWN)
    store(tmp_path, task, "graph_folder")
    model = mlflow.pyfunc.load_model(str(tmp_path))
    found, expected = model.predict(own_graphs()), load_folder(tmp_path).predict(task.graphs)
    assert found["graph"].tolist() == pd.read_csv(OWN / "graphs.csv")["graph"].tolist()
    assert_equal(found.drop(columns="graph"), expected.drop(columns="graph"))
    unnamed = model.predict(own_graphs().drop(columns="graph"))
    assert unnamed["graph"].tolist() == [str(number) for number in range(len(expected))]


def test_a_table_of_lists_for_any_model(tmp_path):
    task = ring_transfer(distance=2, graphs=10)
    store(tmp_path, task, "ring_transfer")
    model = mlflow.pyfunc.load_model(str(tmp_path))
    alone = Data(x=task.graphs[0].x[:1], edge_index=task.graphs[0].edge_index[:, :0])
    graphs = [*task.graphs, alone]
    assert_equal(model.predict(as_lists(graphs)), load_folder(tmp_path).predict(graphs))


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (pd.DataFrame({"smiles": ["CCO", "C1CC"]}), "the table, row 2: "),
        (pd.DataFrame({"structure": ["CCO"]}), "columns smiles, not structure"),
        (pd.DataFrame({"edge_index": [[[0], [1, 2]]], "x": [[[0]]]}), "edge_index of graph 0 is not a list of lists"),
        (["CCO"], "not list"),
    ],
)
def test_a_mistake_is_a_sentence(tmp_path, given, said):
    store(tmp_path, smiles_csv(FILE, targets="logp"), "smiles_csv")
    with pytest.raises(MlflowException) as raised:
        mlflow.pyfunc.load_model(str(tmp_path)).predict(given)
    assert said in raised.value.message
    assert raised.value.get_http_status_code() == 400
    assert "on_error" not in raised.value.message


def test_components_of_the_user_are_imported_if_they_are_named(tmp_path, monkeypatch):
    """MLflow passes `model_config` on; what is not named is not imported."""
    (tmp_path / "named_here.py").write_text("from pathlib import Path\n\nPath('imported').touch()\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    store(tmp_path / "model", ring_transfer(distance=2, graphs=10), "ring_transfer", modules=("named_here",))
    mlflow.pyfunc.load_model("model")
    assert not Path("imported").exists()
    mlflow.pyfunc.load_model("model", model_config={"modules": ["named_here"]})
    assert Path("imported").exists()


@pytest.fixture
def served(tmp_path):
    """`mlflow models serve`, with the address that answers."""
    task = ring_transfer(distance=2, graphs=10)
    store(tmp_path / "model", task, "ring_transfer")
    port = free_port()
    search = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"  # it starts uvicorn by its name
    command = ["-m", "mlflow", "models", "serve", "-m", "model", "--env-manager", "local", "--port", str(port)]
    process = Command(command, tmp_path, {**os.environ, "PATH": search, "MLFLOW_DISABLE_TELEMETRY": "true"})
    while True:
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{port}/ping", timeout=1).read()
            break
        except OSError:
            assert process.returncode is None, process.printed("stderr")
            time.sleep(0.1)
    yield f"http://127.0.0.1:{port}/invocations", task, load_folder(tmp_path / "model")
    process.kill()


def ask(address: str, content: object) -> dict:
    headers = {"Content-Type": "application/json"}
    with urllib.request.urlopen(urllib.request.Request(address, json.dumps(content).encode(), headers)) as answer:
        return json.load(answer)


def test_a_served_model_answers_by_http(served):
    address, task, trained = served
    records = as_lists(task.graphs).to_dict("records")
    found = pd.DataFrame(ask(address, {"dataframe_records": records})["predictions"])
    expected = trained.predict(task.graphs)
    assert found["predicted"].tolist() == expected["predicted"].tolist()
    assert found["p_0"].tolist() == pytest.approx(expected["p_0"].tolist(), rel=1e-6)
    with pytest.raises(urllib.error.HTTPError) as raised:
        ask(address, {"dataframe_records": [{"smiles": "CCO"}]})
    assert raised.value.code == 400
    assert "columns edge_index and x, not smiles" in raised.value.read().decode()
