from collections.abc import Sequence
from pathlib import Path

from gredkit import ranges
from gredkit.data.objectives import objective
from gredkit.data.own.cells import one_class_column, read_targets, target_kind
from gredkit.data.own.molecule import ATOM, BOND, molecule_graph
from gredkit.data.own.smiles import read_smiles
from gredkit.data.own.tables import Problems, read_csv
from gredkit.data.splits import drawn_split, given_split
from gredkit.data.task import GraphSpec, Task
from gredkit.errors import UserError
from gredkit.registry import DATASETS


@DATASETS.register("smiles_csv")
def smiles_csv(
    path: str | Path = "",
    smiles: str = "smiles",
    targets: str | Sequence[str] = ("y",),
    task: str = "regression",
    on_error: str = "raise",
    seed: int = 0,
) -> Task:
    """Your own molecules, from a CSV file with a column of SMILES and one or more target columns.

    Atoms and bonds have the nine and three columns of the Open Graph Benchmark; hydrogens are counted at their
    atoms and are not nodes. A column `split` says train, validation or test; without it 80, 10 and 10 % are
    drawn, with an equal share of each class.

    path: the CSV file
    smiles: name of the column of SMILES
    targets: names of the target columns
    task: kind of task: regression, classification, balanced_classification or labels
    on_error: 'raise' stops at the first mistake, 'skip' leaves such rows out and says how many and why
    seed: determines the split if the file has none
    """
    goal = objective(task)
    ranges.seed(seed)
    problems = Problems(on_error)
    if path == "":
        raise UserError("which file of SMILES? set datasets.smiles_csv.path")
    table = read_csv(Path(path).expanduser())
    columns = [targets] if isinstance(targets, str) else list(targets)
    if not columns:
        raise UserError("targets is empty: name at least one column")
    table.require([smiles, *columns])
    one_class_column(columns, task, table.file)

    kinds = {column: target_kind(task) for column in columns}
    if "split" in table.rows:
        kinds["split"] = "split"
    table, made = read_smiles(table, smiles, kinds, molecule_graph, problems)

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
        reading={"smiles": "atom_columns"},
    )
