"""Read new graphs for a trained model in the same way as its training graphs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import torch
from torch_geometric.data import Data

from gredkit import ranges
from gredkit.data.datasets.molecules import typed_graph
from gredkit.data.ogb import ogb_graph
from gredkit.data.own.cells import CATEGORIES, numbers
from gredkit.data.own.graph_tables import GraphTables, read_folder, read_frame
from gredkit.data.own.molecule import molecule_graph
from gredkit.data.own.smiles import read_smiles
from gredkit.data.own.table_features import Features
from gredkit.data.own.tables import Problems, Sentence, Table, read_csv
from gredkit.errors import UserError

if TYPE_CHECKING:
    from rdkit.Chem import Mol

SMILES: dict[str, Callable[..., Data]] = {
    "atom_columns": molecule_graph,
    "atom_types": typed_graph,
    "ogb": ogb_graph,
}


@dataclass(frozen=True)
class NewGraphs:
    """Graphs without targets, and the user's names of the graphs and of their nodes."""

    graphs: Sequence[Data]
    names: Sequence[Any]
    called: str = "graph"  # the column of the names
    nodes: np.ndarray | None = None  # names of the nodes of all graphs; None means that they are numbered

    def named(self, predicted: pd.DataFrame) -> pd.DataFrame:
        """The predictions with these names instead of numbers."""
        named = predicted.assign(graph=pd.Series(self.names)[predicted["graph"]].to_numpy())
        if "node" in named and self.nodes is not None:
            named["node"] = self.nodes
        return named.rename(columns={"graph": self.called})


def from_folder(
    path: str | Path, reading: Mapping[str, Any], trained_on: str, with_edges: bool, problems: Problems
) -> NewGraphs:
    """The graphs of a folder as `graph_folder` reads it, but graphs.csv may be missing and targets are ignored.

    Every feature column that the model was trained on must exist; other columns are ignored.
    """
    if "nodes" not in reading:
        raise UserError(
            f"this model was trained on {trained_on}, not on tables whose columns have names: "
            f"give --data 'package.module:function', which returns its graphs"
        )
    return _of_tables(read_folder(path, problems, all_files=False), str(path), reading, with_edges)


def from_frame(
    frame: pd.DataFrame, reading: Mapping[str, Any], trained_on: str, with_edges: bool, problems: Problems
) -> NewGraphs:
    """The graphs of a table in memory, one per row.

    Its columns are `smiles`; or `nodes` and `edges` as in graphs.parquet; or, for any model, lists of the numbers that
    a PyG `Data` has: `edge_index`, `x` and, where the model reads it, `edge_attr`.
    """
    if "edge_index" in frame:
        graphs = [_of_lists(row, number) for number, row in enumerate(frame.to_dict("records"))]
        return NewGraphs(graphs, range(len(graphs)))
    if "nodes" in reading and "nodes" in frame:
        return _of_tables(read_frame(frame, problems), "the table", reading, with_edges)
    if "smiles" in reading and "smiles" in frame:
        rows = frame.set_axis(pd.RangeIndex(1, len(frame) + 1))
        return _of_smiles(Table(rows, "the table", "row"), "smiles", smiles_reader(reading, trained_on), problems)
    wanted = "nodes and edges" if "nodes" in reading else "smiles" if "smiles" in reading else "edge_index and x"
    there = ", ".join(map(str, frame.columns)) or "none"
    raise UserError(f"this model reads tables with the columns {wanted}, not {there}: give one row for each graph")


def _of_lists(row: Mapping[str, Any], number: int) -> Data:
    """A graph whose tensors are given as nested lists."""
    graph = Data()
    for key in ("x", "edge_index", "edge_attr"):
        if row.get(key) is not None:
            try:
                graph[key] = torch.from_numpy(np.array(list(row[key])))
            except (TypeError, ValueError):
                raise UserError(f"{key} of graph {number} is not a list of lists of numbers: give one") from None
    if not graph.edge_index.numel():  # an empty list has no type
        graph.edge_index = torch.empty(2, 0, dtype=torch.long)
    return graph


def _of_tables(tables: GraphTables, path: str, reading: Mapping[str, Any], with_edges: bool) -> NewGraphs:
    nodes, edges = Features(reading["nodes"]), Features(reading["edges"] if with_edges else {})
    for name, features in (("nodes", nodes), ("edges", edges)):
        _check(tables, name, features)
    tables.problems.notes(path, len(tables.rows("graphs")), "graphs")
    order = torch.cat(tables.by_graph(torch.arange(len(tables.rows("nodes")))))
    return NewGraphs(
        graphs=tables.graphs(nodes, edges),
        names=tables.rows("graphs")["graph"].tolist(),
        nodes=tables.rows("nodes")["node"].to_numpy(object)[order.numpy()],
    )


def from_smiles(
    path: str | Path, column: str, reading: Mapping[str, Any], trained_on: str, problems: Problems
) -> NewGraphs:
    """The molecules of a CSV file."""
    make = smiles_reader(reading, trained_on)
    table = read_csv(Path(path).expanduser())
    table.require([column])
    return _of_smiles(table, column, make, problems)


def _of_smiles(table: Table, column: str, make: Callable[[Mol], Data], problems: Problems) -> NewGraphs:
    table, graphs = read_smiles(table, column, {}, make, problems)
    problems.notes(table.file, len(graphs), "molecules")
    return NewGraphs(graphs, table.rows[column].tolist(), called="smiles")


def smiles_reader(reading: Mapping[str, Any], trained_on: str) -> Callable[[Mol], Data]:
    """The function that turns a molecule into a graph like those that the model was trained on."""
    if "smiles" not in reading:
        raise UserError(
            f"this model was trained on {trained_on}, which does not say how SMILES become its graphs: "
            f"give --data 'package.module:function', which returns them"
        )
    return partial(SMILES[reading["smiles"]], **{key: value for key, value in reading.items() if key != "smiles"})


def check_reading(reading: Mapping[str, Any]) -> None:
    """Raise if a stored model's `reading` is not valid for the functions above."""
    for name in ("nodes", "edges") if "nodes" in reading else ():
        sizes = reading.get(name)
        if not isinstance(sizes, Mapping):
            raise UserError(f"'reading' does not list the columns of {name}")
        for column, size in sizes.items():
            if size is not None:
                ranges.whole(column, size, 1, CATEGORIES)
    if "smiles" in reading:
        ranges.one_of("'smiles' of 'reading'", reading["smiles"], SMILES)
        types = {key: value for key, value in reading.items() if key != "smiles"}
        expected = {"types"} if reading["smiles"] == "atom_types" else set()
        if types.keys() != expected or not all(_are_words(value) for value in types.values()):
            raise UserError(f"'reading' has invalid settings for SMILES: {ranges.said(types)}")


def _are_words(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(word, str) for word in value)


def _check(tables: GraphTables, name: str, features: Features) -> None:
    tables[name].require(features.sizes)
    for column in features.dense:
        tables.check_column(name, column, "number")
    for column, size in features.categorical.items():
        tables.check_column(name, column, "category")
        tables.check(name, numbers(tables.rows(name)[column]) >= size, _unknown(column, size))


def _unknown(column: str, size: int) -> Sentence:
    return lambda row: (
        f"'{row[column]}' in {column!r} did not occur in training, where the largest was {size - 1}: "
        f"leave the graph out, or train on graphs that have it"
    )
