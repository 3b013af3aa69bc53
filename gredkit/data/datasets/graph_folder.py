from pathlib import Path

import numpy as np
import torch
from torch_geometric.data import Data

from gredkit import ranges
from gredkit.data.objectives import objective
from gredkit.data.own.cells import one_class_column, read_targets, target_kind
from gredkit.data.own.graph_tables import IDS, GraphTables, read_folder
from gredkit.data.own.table_features import Features, feature_kinds
from gredkit.data.own.tables import Problems
from gredkit.data.splits import Splits, drawn_split, given_split, split_nodes
from gredkit.data.task import LEVELS, SPLITS, GraphSpec, Task
from gredkit.errors import UserError
from gredkit.registry import DATASETS


@DATASETS.register("graph_folder")
def graph_folder(
    path: str | Path = "",
    task: str = "classification",
    level: str = "graph",
    on_error: str = "raise",
    seed: int = 0,
) -> Task:
    """Your own graphs, from a folder with CSV files or one Parquet file.

    graphs.csv: columns `graph`, targets `y` or `y_*`, and optionally `split`.
    nodes.csv: `graph`, `node`, features, and for level 'node' the targets.
    edges.csv: `graph`, `source`, `target`, features. Names of graphs and nodes may be numbers or words.
    Features: `cat_*` are categories (whole numbers from 0), `x_*` are numbers. If a file has both, each category
    becomes a column of 0 and 1. Without features, all nodes have the same symbol. Other columns are ignored.
    graphs.parquet instead of the three files: one row per graph with the columns of graphs.csv, and `nodes` and
    `edges`, which are lists of structs with the fields of the other two files.
    Edges count as undirected. Without `split`, 80 % of the graphs are drawn for training, 10 % for validation
    and 10 % for the test, with an equal share of each class. For level 'node', `split` may be a column of
    nodes.csv (empty: the node has no target); if there is only one graph, its nodes are always split.

    path: the folder
    task: kind of task: classification, balanced_classification, labels or regression
    level: 'graph' or 'node': what has a target
    on_error: 'raise' stops at the first mistake, 'skip' leaves such graphs out and says how many and why
    seed: determines the split if the files have none
    """
    goal = objective(task)
    ranges.seed(seed)
    ranges.one_of("level", level, LEVELS)
    tables = read_folder(path, Problems(on_error))
    answering = "nodes" if level == "node" else "graphs"
    columns = [column for column in tables.rows(answering) if column == "y" or column.startswith("y_")]
    if not columns:
        tables[answering].require(["y"])
    one_class_column(columns, task, tables[answering].file)
    _check(tables, answering, columns, task)

    name = Path(path).resolve().name
    left_out = tables.problems.notes(name, len(tables.rows("graphs")), "graphs")
    nodes, edges = Features.of(tables.rows("nodes")), Features.of(tables.rows("edges"))
    targets = read_targets(tables.rows(answering), columns, task, _asked(tables, answering))
    graphs = tables.graphs(nodes, edges, targets.y, level)
    graphs, splits, drawn = _split(tables, graphs, task, level, seed)

    notes = {
        "split": drawn,
        "node_columns": nodes.names,
        "edge_columns": edges.names,
        "target_columns": tuple(columns),
        "class_names": targets.classes,
        "ignored_columns": _ignored(tables, answering, columns),
    }
    return Task(
        name=name,
        spec=GraphSpec(
            nodes=nodes.columns, outputs=targets.outputs, edges=edges.columns if edges.sizes else None, level=level
        ),
        graphs=graphs,
        splits=splits,
        objective=goal,
        notes={key: note for key, note in notes.items() if note} | left_out,
        reading={"nodes": nodes.sizes, "edges": edges.sizes},
    )


def _check(tables: GraphTables, answering: str, targets: list[str], task: str) -> None:
    for name in ("nodes", "edges"):
        for column, kind in feature_kinds(tables.rows(name)).items():
            tables.check_column(name, column, kind)
    for column in targets:
        tables.check_column(answering, column, target_kind(task), among=_asked(tables, answering))
    if "split" in tables.rows("graphs"):
        if answering == "nodes" and "split" in tables.rows("nodes"):
            raise UserError(f"{tables['nodes'].file}: 'split' is also a column of the graphs: remove one")
        tables.check_column("graphs", "split", "split")
    if answering == "nodes" and "split" in tables.rows("nodes"):
        tables.check_column("nodes", "split", "split", among=_asked(tables, "nodes"))


def _asked(tables: GraphTables, answering: str) -> np.ndarray:
    """Which rows have a target: all rows, except nodes that are in no split."""
    rows = tables.rows(answering)
    in_some_split = answering == "graphs" or "split" not in rows
    return np.ones(len(rows), bool) if in_some_split else rows["split"].notna().to_numpy()


def _split(tables: GraphTables, graphs: list[Data], task: str, level: str, seed: int) -> tuple[list[Data], Splits, str]:
    """The graphs (or copies of them if nodes are split), the splits, and a note on where the splits come from."""
    if level == "node" and "split" in tables.rows("nodes"):
        name = tables.rows("nodes")["split"].to_numpy(object)
        masks = {split: tables.by_graph(torch.from_numpy(name == split)) for split in SPLITS}
        return *split_nodes(graphs, masks, task), "given for nodes"
    if "split" in tables.rows("graphs"):
        return graphs, given_split(tables.rows("graphs")["split"].to_numpy(object)), "given"
    return drawn_split(graphs, task, level, seed)


def _ignored(tables: GraphTables, answering: str, targets: list[str]) -> tuple[str, ...]:
    """The columns that were ignored."""
    read = {name: {*IDS[name], *feature_kinds(tables.rows(name))} for name in ("nodes", "edges")}
    read["graphs"] = {"graph", "split"}
    read[answering] |= {*targets, "split"}
    return tuple(f"{name}: {column}" for name in IDS for column in tables.rows(name) if column not in read[name])
