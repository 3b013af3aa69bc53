"""A user's own files for the tests: folders of graphs, changes in single lines, and a plain comparison of tasks."""

from collections.abc import Mapping
from pathlib import Path

import pandas as pd
import pytest
import torch
from rdkit import Chem, RDLogger
from torch_geometric.data import Batch, Data

from gredkit.data.hops.index import add_hops
from gredkit.data.task import Task
from gredkit.nn.models.gred import GRED

EXAMPLES = Path(__file__).parents[1] / "examples"
FILES = ("graphs.csv", "nodes.csv", "edges.csv")


def ten_paths(folder: Path) -> Path:
    """Graphs g0 to g9, each the path a - b - c; g0 to g5 train, two validate, two test.

    Graph i stands in line i + 2 of graphs.csv, from line 3 i + 2 of nodes.csv and from line 2 i + 2 of edges.csv.
    """
    split = ["train"] * 6 + ["validation"] * 2 + ["test"] * 2
    graphs = ["graph,y,split"] + [f"g{i},{('no', 'yes')[i % 2]},{split[i]}" for i in range(10)]
    nodes = ["graph,node,cat_kind"] + [f"g{i},{node},{v + i % 2}" for i in range(10) for v, node in enumerate("abc")]
    edges = ["graph,source,target,x_length"] + [f"g{i},{ends},{i}.5" for i in range(10) for ends in ("a,b", "b,c")]
    return write(folder, {"graphs.csv": graphs, "nodes.csv": nodes, "edges.csv": edges})


def write(folder: Path, files: Mapping[str, list[str]]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, lines in files.items():
        (folder / name).write_text("".join(f"{line}\n" for line in lines))
    return folder


def change(file: Path, line: int, text: str | None) -> None:
    """Another text in a line, counted from 1; None takes it out."""
    lines = file.read_text().splitlines()
    lines[line - 1 : line] = [] if text is None else [text]
    write(file.parent, {file.name: lines})


def to_parquet(folder: Path, made: Path) -> Path:
    """The graphs of CSV files in one Parquet file."""
    graphs, nodes, edges = (pd.read_csv(folder / name) for name in FILES)
    for name, rows in (("nodes", nodes), ("edges", edges)):
        of_graph = dict(list(rows.groupby("graph")))
        graphs[name] = [
            of_graph[graph].drop(columns="graph").to_dict("records") if graph in of_graph else []
            for graph in graphs["graph"]
        ]
    made.mkdir(parents=True)
    graphs.to_parquet(made / "graphs.parquet")
    return made


def assert_same_graphs(found: list[Data], expected: list[Data]) -> None:
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        assert set(one.keys()) == set(other.keys())
        for key in other.keys():  # noqa: SIM118  Data iterates over pairs
            assert one[key].dtype == other[key].dtype, key
            assert torch.equal(one[key], other[key]), key


def assert_learns(task: Task) -> None:
    """A small model has a finite loss and finite gradients on a batch of the training graphs."""

    def encoder(columns):
        return "dense" if isinstance(columns, int) else "categorical"

    torch.manual_seed(0)
    edges = None if task.spec.edges is None else encoder(task.spec.edges)
    model = GRED(task.spec, dim=8, layers=1, features=encoder(task.spec.nodes), edge_features=edges)
    batch = Batch.from_data_list([add_hops(graph, K=2) for graph in task.part("train")])
    loss = task.objective.loss(model(batch), batch.y)
    loss.backward()
    assert loss.isfinite()
    assert loss > 0
    assert all(p.grad is None or p.grad.isfinite().all() for p in model.parameters())
    assert any(p.grad is not None and p.grad.abs().sum() > 0 for p in model.features.parameters())


def let_rdkit_speak(capfd: pytest.CaptureFixture[str]) -> None:
    """Undo what others have silenced, and make sure that RDKit would be heard."""
    RDLogger.EnableLog("rdApp.*")  # type: ignore[attr-defined]
    assert Chem.MolFromSmiles("C1CC") is None
    assert "C1CC" in capfd.readouterr().err
