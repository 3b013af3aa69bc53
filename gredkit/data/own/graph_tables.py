"""Graphs in three tables: one row per graph, per node and per edge."""

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor
from torch_geometric.data import Data

from gredkit.data.own.cells import mistakes
from gredkit.data.own.table_features import Features
from gredkit.data.own.tables import Problems, Sentence, Table, read_csv
from gredkit.errors import UserError

IDS = {"graphs": ("graph",), "nodes": ("graph", "node"), "edges": ("graph", "source", "target")}
EXPECTED = "a folder of graphs holds graphs.parquet, or nodes.csv, edges.csv and graphs.csv"


class GraphTables:
    """The tables `graphs`, `nodes` and `edges`; a graph with an invalid row is removed from all three."""

    def __init__(self, tables: dict[str, Table], problems: Problems):
        for name, columns in IDS.items():
            tables[name].require(columns)
            rows = tables[name].rows.assign(**{column: _ids(tables[name].rows[column]) for column in columns})
            tables[name] = replace(tables[name], rows=rows)
        self._tables, self.problems = tables, problems
        self._check_ids()

    def __getitem__(self, name: str) -> Table:
        return self._tables[name]

    def rows(self, name: str) -> pd.DataFrame:
        return self[name].rows

    def check(self, name: str, wrong: np.ndarray, sentence: Sentence) -> None:
        """Raise for the first wrong row, or remove all graphs that have a wrong row."""
        table = self[name]
        named = table.rows["graph"][wrong]
        first = wrong.copy()
        first[wrong] = (named.isna() | ~named.duplicated()).to_numpy()  # one reason per graph
        if not self.problems.found(table, first, sentence):
            return
        graphs = named.dropna().unique()
        self.problems.left_out += len(graphs) + int(named.isna().sum())
        for other, kept in self._tables.items():
            gone = _among(kept.rows["graph"], graphs)
            gone = gone | wrong if other == name else gone
            self._tables[other] = replace(kept, rows=kept.rows[~gone])

    def check_column(self, name: str, column: str, kind: str, among: np.ndarray | None = None) -> None:
        """`check` that the cells of a column have the given kind, in all rows or only `among` some."""
        wrong, sentence = mistakes(self.rows(name), column, kind)
        self.check(name, wrong if among is None else wrong & among, sentence)

    def _check_ids(self) -> None:
        for name, columns in IDS.items():
            self.check(name, *self[name].too_long())
            for column in columns:
                self.check_column(name, column, "id")
        self.check("graphs", self.rows("graphs")["graph"].duplicated().to_numpy(), _again("graph"))
        for name in ("nodes", "edges"):
            unknown = ~_among(self.rows(name)["graph"], self.rows("graphs")["graph"])
            self.check(name, unknown, lambda row: f"graph '{row.graph}' has no row among the graphs: add one")
        self.check("nodes", self.rows("nodes").duplicated(["graph", "node"]).to_numpy(), _again("node"))
        for end in ("source", "target"):
            self.check("edges", self._node_of_edge(end) < 0, _no_node(end))
        empty = ~_among(self.rows("graphs")["graph"], self.rows("nodes")["graph"].unique())
        self.check("graphs", empty, lambda row: f"graph '{row.graph}' has no nodes: add some, or remove the row")

    def _node_of_edge(self, end: str) -> np.ndarray:
        """For each edge, the row of its source or target among all nodes; -1 if there is no such node."""
        nodes, edges = self.rows("nodes"), self.rows("edges")
        graph, _ = pd.factorize(pd.concat([nodes["graph"], edges["graph"]]))
        name, names = pd.factorize(pd.concat([nodes["node"], edges[end]]))
        pair = graph.astype(np.int64) * max(len(names), 1) + name
        return pd.Index(pair[: len(nodes)]).get_indexer(pair[len(nodes) :])

    def by_graph(self, values: Tensor) -> list[Tensor]:
        """Split values of all nodes (in the order of the node table) into one tensor per graph."""
        graph = self._graph_of_node()
        count = np.bincount(graph, minlength=len(self.rows("graphs")))
        return list(values[np.argsort(graph, kind="stable")].split(count.tolist()))

    def _graph_of_node(self) -> np.ndarray:
        return pd.Index(self.rows("graphs")["graph"]).get_indexer(self.rows("nodes")["graph"])

    def graphs(self, nodes: Features, edges: Features, y: Tensor | None = None, level: str = "graph") -> list[Data]:
        """One `Data` per graph, in the order of the graph table; every edge gets its reverse if it is missing.

        Shape: y [graphs, ...] or for level 'node' [nodes, ...], in the order of the table
        """
        graph, count = self._graph_of_node(), len(self.rows("graphs"))
        place = np.empty(len(graph), np.int64)  # the number of a node in its graph
        place[np.argsort(graph, kind="stable")] = np.concatenate(
            [np.arange(size) for size in np.bincount(graph, minlength=count)]
        )
        source, target = self._node_of_edge("source"), self._node_of_edge("target")
        one_way = ~pd.Series(target * len(graph) + source).isin(source * len(graph) + target).to_numpy()
        row = np.concatenate([np.arange(len(source)), np.flatnonzero(one_way)])
        source, target = np.concatenate([source, target[one_way]]), np.concatenate([target, source[one_way]])
        order = np.argsort(graph[source], kind="stable")
        sizes = np.bincount(graph[source], minlength=count).tolist()
        edge_index = torch.from_numpy(np.stack([place[source], place[target]])[:, order])

        parts = {"x": self.by_graph(nodes.read(self.rows("nodes"))), "edge_index": edge_index.split(sizes, 1)}
        if y is not None:
            parts["y"] = self.by_graph(y) if level == "node" else y.split(1)
        if edges.sizes:
            parts["edge_attr"] = edges.read(self.rows("edges"))[row[order]].split(sizes)
        # Copies, because saving a view would save the tensor of all graphs.
        return [Data(**{key: part[i].clone() for key, part in parts.items()}) for i in range(count)]


def read_folder(path: str | Path, problems: Problems, all_files: bool = True) -> GraphTables:
    """The graphs of a folder, stored as CSV files or as one Parquet file.

    all_files: if False, graphs.csv may be missing, and the graphs are those that nodes.csv names
    """
    folder = Path(path).expanduser()
    if path == "":
        raise UserError(f"which folder of graphs? set datasets.graph_folder.path; {EXPECTED}")
    if not folder.is_dir():
        raise UserError(f"there is no folder {str(path)!r} in {os.getcwd()}: {EXPECTED}")
    parquet, csv = folder / "graphs.parquet", [folder / f"{name}.csv" for name in IDS]
    if parquet.is_file() and any(file.is_file() for file in csv):
        raise UserError(f"{folder} holds both graphs.parquet and CSV files: keep only one of the two")
    if parquet.is_file():
        return GraphTables(_read_parquet(parquet), problems)
    missing = [file.name for file in csv if not file.is_file()]
    if missing and (all_files or missing != ["graphs.csv"]):
        raise UserError(f"there is no {missing[0]} in {folder}: {EXPECTED}")
    tables = {name: read_csv(file) for name, file in zip(IDS, csv, strict=True) if file.name not in missing}
    if missing:
        tables["nodes"].require(["graph"])
        named = tables["nodes"].rows[["graph"]]
        tables["graphs"] = replace(tables["nodes"], rows=named.dropna().drop_duplicates(), torn={})
    return GraphTables(tables, problems)


def read_frame(frame: pd.DataFrame, problems: Problems) -> GraphTables:
    """The graphs of a table with the columns of graphs.parquet; without `graph` they are numbered."""
    import pyarrow as pa  # type: ignore[import-untyped]

    if "graph" not in frame:
        frame = frame.assign(graph=range(len(frame)))
    try:
        whole = pa.Table.from_pandas(frame, preserve_index=False)
    except pa.ArrowException as error:
        raise UserError(f"cannot read the table: {str(error).splitlines()[0]}") from None
    return GraphTables(_nested(whole, "the table"), problems)


def _read_parquet(path: Path) -> dict[str, Table]:
    import pyarrow as pa
    from pyarrow import parquet

    try:
        whole = parquet.read_table(path, partitioning=None)
    except (pa.ArrowException, OSError) as error:
        raise UserError(f"cannot read {path}: {str(error).splitlines()[0]}") from None
    return _nested(whole, str(path))


def _nested(whole: Any, path: str) -> dict[str, Table]:
    """One row per graph; the columns `nodes` and `edges` are lists of structs with the fields of the CSV files."""
    import pyarrow as pa
    from pyarrow import compute

    for field in whole.schema:
        if field.name not in ("nodes", "edges") and pa.types.is_nested(field.type):
            raise UserError(f"{path}: the column {field.name!r} is {field.type}: make it one value per graph")
    graphs = whole.drop_columns([name for name in ("nodes", "edges") if name in whole.column_names]).to_pandas()
    graphs.index = pd.RangeIndex(1, len(graphs) + 1)
    tables = {"graphs": Table(graphs, path, "row")}
    tables["graphs"].require(["graph"])
    for name in ("nodes", "edges"):
        if name not in whole.column_names:
            raise UserError(f"{path}: there is no column {name!r}: add it, with a list of structs for each graph")
        column = whole[name].combine_chunks()
        is_list = pa.types.is_list(column.type) or pa.types.is_large_list(column.type)
        flat = compute.list_flatten(column) if is_list else column
        if column.null_count == len(column) or not len(flat):  # an empty column has no type
            rows, graph = pd.DataFrame(columns=list(IDS[name]), dtype=str), np.empty(0, np.int64)
        elif is_list and pa.types.is_struct(flat.type):
            rows = pa.table(flat.flatten(), [field.name for field in flat.type]).to_pandas()
            graph = compute.list_parent_indices(column).to_numpy()
        else:
            raise UserError(f"{path}: the column {name!r} is {column.type}: make it a list of structs for each graph")
        rows["graph"], rows.index = graphs["graph"].to_numpy()[graph], graphs.index[graph]
        tables[name] = Table(rows, f"{path} ({name})", "row")
    return tables


def _ids(cells: pd.Series) -> pd.Series:
    """Names as text, so that 7 in one column equals 7 in another."""
    if pd.api.types.is_string_dtype(cells):
        return cells
    if pd.api.types.is_float_dtype(cells) and (cells.dropna() % 1 == 0).all():
        cells = cells.astype("Int64")  # whole numbers with missing values
    return cells.astype(str).astype(object).where(cells.notna(), np.nan)


def _among(cells: pd.Series, names: Sequence[str]) -> np.ndarray:
    """Which cells are one of these (distinct) names; `Series.isin` is slow with text."""
    return pd.Index(names).get_indexer(cells) >= 0


def _again(what: str) -> Sentence:
    return lambda row: f"{what} '{row[what]}' appears twice: name each only once"


def _no_node(end: str) -> Sentence:
    return lambda row: f"{end} '{row[end]}' is not a node of graph '{row.graph}': add it to the nodes"
