"""python -m gredkit.predict --run ID --data PATH [--out FILE]: what a trained model says of new graphs."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from gredkit.cli import Parser, add_import, import_all
from gredkit.errors import UserError, command
from gredkit.ranges import whole
from gredkit.registry import DATASETS
from gredkit.system.writing import CannotWrite, writing
from gredkit.tracking.store import existing_store, tracking_uri

if TYPE_CHECKING:  # what takes long to import is imported when all options are read
    import pandas as pd

    from gredkit.data.task import Task
    from gredkit.data.unlabelled import NewGraphs
    from gredkit.inference.about import SavedModel

FORMATS = (".csv", ".parquet")
SPLITS = ("train", "validation", "test")
ON_ERROR = ("raise", "skip")


def main() -> None:
    arguments = _arguments()
    out = arguments.out and Path(arguments.out)
    if out and out.suffix not in FORMATS:
        raise UserError(f"--out {out} ends neither in .csv nor in .parquet: choose one of these")
    if out and not out.absolute().parent.is_dir():
        raise UserError(f"there is no folder {str(out.absolute().parent)!r} to write {out.name} to")
    whole("--batch-size", arguments.batch_size)
    if arguments.run is not None:
        existing_store(tracking_uri(arguments.tracking_uri))
    elif not arguments.model or not Path(arguments.model).is_dir():
        raise UserError(f"there is no folder {arguments.model!r} with a stored model: correct --model")
    import_all(arguments.modules)
    from gredkit.inference.saved import load, load_folder
    from gredkit.inference.trained_on import dataset_of, metric_of

    trained = load_folder(arguments.model) if arguments.run is None else load(arguments.run, arguments.tracking_uri)
    about = trained.about
    task = None
    if arguments.data in DATASETS:
        task = dataset_of(about, arguments.data)
        new = _part(task, arguments.split)
    elif arguments.split:
        raise UserError(f"--split goes with the name of a dataset, which {arguments.data!r} is not: leave it out")
    else:
        new = _read(arguments, about)
    outputs = trained.outputs(new.graphs, arguments.batch_size, arguments.device)
    _write(new.named(trained.frame(outputs, new.graphs)), out)
    if task is not None and _same_question(task, about):
        import torch

        metric = metric_of(task, about)
        score = metric.score(outputs, torch.cat([graph.y for graph in new.graphs]))
        print(f"{arguments.data}, {arguments.split or 'all graphs'}: {metric.name} {score:.6g}", file=sys.stderr)


def _arguments() -> argparse.Namespace:
    parser = Parser(prog="python -m gredkit.predict", description="Use a trained model.")
    add = parser.add_argument
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument("--run", metavar="ID", help="the MLflow run that trained it")
    which.add_argument("--model", metavar="FOLDER", help="or a folder with model.json and weights.safetensors")
    what = "a folder of graphs, a CSV file of SMILES, 'package.module:function', or the name of a dataset"
    add("--data", required=True, metavar="PATH", help=what)
    add("--split", choices=SPLITS, help="of a dataset; all its graphs by default")
    add("--smiles", default="smiles", metavar="COLUMN", help="of a CSV file; 'smiles' by default")
    add("--on-error", choices=ON_ERROR, default="raise", help="skip: leave out graphs that have a mistake")
    add("--out", metavar="FILE", help="a .csv or .parquet; the terminal by default")
    add("--tracking-uri", metavar="URI", help="$MLFLOW_TRACKING_URI, or mlflow.db in this folder, by default")
    add("--batch-size", type=int, default=64, metavar="N", help="graphs that the model reads at a time; 64 by default")
    add("--device", default="cpu", help="cpu, cuda, mps or auto; cpu by default")
    add_import(parser)
    return parser.parse_args()


def _read(arguments: argparse.Namespace, about: SavedModel) -> NewGraphs:
    """The graphs that --data names, if it is no dataset."""
    from gredkit.data.datasets.python_dataset import graphs_of
    from gredkit.data.own.tables import Problems
    from gredkit.data.unlabelled import NewGraphs, from_folder, from_smiles

    path = Path(arguments.data).expanduser()
    problems = Problems(arguments.on_error, skipped_by="--on-error skip")
    if path.is_dir():
        return from_folder(path, about.reading, about.dataset, about.needs_edges, problems)
    if path.is_file():
        return from_smiles(path, arguments.smiles, about.reading, about.dataset, problems)
    if ":" in arguments.data:
        graphs = graphs_of(arguments.data)
        return NewGraphs(graphs, range(len(graphs)))
    raise UserError(
        f"--data {arguments.data!r} is no folder, no file, no 'package.module:function' and no dataset: correct it"
    )


def _part(task: Task, split: str | None) -> NewGraphs:
    from gredkit.data.unlabelled import NewGraphs

    numbers = task.splits[split] if split else range(len(task.graphs))
    return NewGraphs([task.graphs[i] for i in numbers], list(numbers))


def _same_question(task: Task, about: SavedModel) -> bool:
    """Whether the targets of a dataset are what the model was trained for."""
    asked = (task.objective.kind, task.spec.outputs, task.spec.level, list(task.notes.get("class_names") or ()))
    return asked == (about.task, about.spec.outputs, about.spec.level, list(about.class_names))


def _write(frame: pd.DataFrame, out: Path | None) -> None:
    if out is None:
        sys.stdout.write(frame.to_csv(index=False))
        return
    try:
        with writing(out.parent):
            frame.to_csv(out, index=False) if out.suffix == ".csv" else frame.to_parquet(out, index=False)
    except CannotWrite:
        raise
    except (OSError, ValueError) as error:
        raise UserError(f"cannot write {out}: {error}") from None


if __name__ == "__main__":
    command(main)
