from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
from torch_geometric.data import Data

from gredkit.data.molecule import ATOM, BOND, molecule_graph, parse_smiles
from gredkit.data.objectives import objective
from gredkit.data.own import mistakes, one_class_column, read_targets, target_kind
from gredkit.data.splits import drawn_split, given_split
from gredkit.data.tables import Problems, Sentence, Table, read_csv
from gredkit.data.task import GraphSpec, Task
from gredkit.errors import UserError
from gredkit.registry import DATASETS


@DATASETS.register("smiles_csv")
def smiles_csv(
    path: str | Path = "",
    smiles: str = "smiles",
    targets: str | Sequence[str] = ("y",),
    task: str = "regression",
    metric: str | None = None,
    on_error: str = "raise",
    seed: int = 0,
) -> Task:
    """Your own molecules, from a CSV file with a column of SMILES and one or more of targets.

    Atoms and bonds carry the nine and three columns of the Open Graph Benchmark; hydrogens are counted, not
    drawn. A column `split` says train, validation or test; without it `seed` draws 80, 10 and 10 %, with an equal
    share of each class. With on_error='skip' rows that have a mistake are left out, and `notes` says how many
    and why.
    """
    goal = objective(task, metric)
    problems = Problems(on_error)
    if path == "":
        raise UserError("which file of SMILES? set datasets.smiles_csv.path")
    table = read_csv(Path(path).expanduser())
    columns = [targets] if isinstance(targets, str) else list(targets)
    if not columns:
        raise UserError("targets names no column: give at least one")
    table.require([smiles, *columns])
    one_class_column(columns, task, table.file)

    def checked(table: Table, wrong: np.ndarray, sentence: Sentence) -> Table:
        if not problems.found(table, wrong, sentence):
            return table
        problems.left_out += int(wrong.sum())
        return replace(table, rows=table.rows[~wrong])

    table = checked(table, *table.too_long())
    kinds = {smiles: "id", **{column: target_kind(task) for column in columns}}
    if "split" in table.rows:
        kinds["split"] = "split"
    for column, kind in kinds.items():
        table = checked(table, *mistakes(table.rows, column, kind))
    graphs, reasons = _graphs(table.rows[smiles])
    table = checked(table, np.array([graph is None for graph in graphs], bool), lambda row: reasons[row.name])
    made = [graph for graph in graphs if graph is not None]

    name = Path(path).stem
    left_out = problems.notes(name, len(made), "molecules")
    wanted = read_targets(table.rows, columns, task)
    for graph, y in zip(made, wanted.y.split(1), strict=True):
        graph.y = y.clone()
    if "split" in table.rows:
        splits, drawn = given_split(table.rows["split"].to_numpy(object)), "given"
    else:
        made, splits, drawn = drawn_split(made, task, "graph", seed)
    named = {"class_names": wanted.classes} if wanted.classes else {}
    return Task(
        name=name,
        spec=GraphSpec(nodes=tuple(ATOM.values()), edges=tuple(BOND.values()), outputs=wanted.outputs),
        graphs=made,
        splits=splits,
        objective=goal,
        notes={"split": drawn, "target_columns": tuple(columns), **named, **left_out},
    )


def _graphs(column: pd.Series) -> tuple[list[Data | None], dict[int, str]]:
    """The molecule of each row, and for each line without one the reason."""
    graphs: list[Data | None] = []
    reasons: dict[int, str] = {}
    for line, smiles in column.items():
        try:
            graphs.append(molecule_graph(parse_smiles(smiles)))
        except UserError as error:
            graphs.append(None)
            reasons[line] = f"{error}: correct it"
    return graphs, reasons
