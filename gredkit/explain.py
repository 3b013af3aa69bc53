"""python -m gredkit.explain --run ID [--graph N --node V]: at which distance a trained model hears."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from gredkit.cli import Parser, add_import, import_all
from gredkit.errors import UserError, command
from gredkit.inference.distance.record import USUAL, Sample
from gredkit.ranges import seed, whole
from gredkit.tracking.store import existing_store, tracking_uri

if TYPE_CHECKING:  # what takes long to import is imported when all options are read
    from gredkit.data.task import Task
    from gredkit.inference.about import SavedModel

EXPLAINED = Path("explained")  # one folder per model that was looked at


def main() -> None:
    arguments = _arguments()
    sample = _sample(arguments)
    out = arguments.out or EXPLAINED / (arguments.run or Path(arguments.model).absolute().name)
    if out.exists() and not out.is_dir():
        raise UserError(f"--out {out} is a file: name a folder")
    if arguments.run is not None:
        existing_store(tracking_uri(arguments.tracking_uri))
    elif not Path(arguments.model).is_dir():
        raise UserError(f"there is no folder {arguments.model!r} with a stored model: correct --model")
    import_all(arguments.modules)
    from gredkit.inference.saved import load, load_folder
    from gredkit.reports.explanation import explain, explain_node

    trained = load_folder(arguments.model) if arguments.run is None else load(arguments.run, arguments.tracking_uri)
    task = _task(arguments.data, trained.about)
    place = None
    if arguments.graph is not None or arguments.node is not None:
        place = _place(task, arguments.graph, arguments.node)
    written = explain(trained, task, sample, out)
    if place is not None:
        written += explain_node(trained, task, *place, out)
    for file in written:
        print(file)


def _arguments() -> argparse.Namespace:
    parser = Parser(prog="python -m gredkit.explain", description="At which distance a trained model hears.")
    add = parser.add_argument
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument("--run", metavar="ID", help="the MLflow run that trained it")
    which.add_argument("--model", metavar="FOLDER", help="or a folder with model.json and weights.safetensors")
    add("--graph", type=int, metavar="N", help="draw a node of this graph of the dataset; the first for validation")
    add("--node", type=int, metavar="V", help="which node; the first one that the task asks about")
    what = "the name of a dataset, or 'package.module:function'; what it was trained on by default"
    add("--data", metavar="NAME", help=what)
    add("--out", type=Path, metavar="FOLDER", help="for tables and figures; explained/ID by default")
    add("--graphs", type=int, default=USUAL.graphs, metavar="N", help=f"of the validation split; {USUAL.graphs}")
    add("--nodes", type=int, default=USUAL.nodes, metavar="N", help=f"of each of these graphs; {USUAL.nodes}")
    add("--hops", type=int, default=USUAL.hops, metavar="N", help=f"how many hops are hidden in turn; {USUAL.hops}")
    add("--seed", type=int, default=USUAL.seed, metavar="N", help="graphs and nodes are drawn with it; 0")
    add("--tracking-uri", metavar="URI", help="$MLFLOW_TRACKING_URI, or mlflow.db in this folder, by default")
    add_import(parser)
    return parser.parse_args()


def _sample(arguments: argparse.Namespace) -> Sample:
    for option, least in (("graphs", 1), ("nodes", 1), ("hops", 3)):
        whole(f"--{option}", getattr(arguments, option), least, 1_000_000)
    seed(arguments.seed, "--seed")
    return Sample(graphs=arguments.graphs, nodes=arguments.nodes, hops=arguments.hops, seed=arguments.seed)


def _task(data: str | None, about: SavedModel) -> Task:
    """The dataset that the model is looked at with."""
    from gredkit.data.datasets.python_dataset import python_dataset
    from gredkit.inference.trained_on import check_fits, dataset_of

    if data is None or ":" not in data:
        task = dataset_of(about, data)
    else:
        settings = about.dataset_settings if about.dataset == "python_dataset" else {}
        task = check_fits(python_dataset(**{**settings, "target": data}), about, data)
    edges = task.spec.edges if about.needs_edges else about.spec.edges
    if (task.spec.nodes, edges, task.spec.level) != (about.spec.nodes, about.spec.edges, about.spec.level):
        raise UserError(f"the graphs of {task.name!r} are not like those that this model was trained on: choose others")
    return task


def _place(task: Task, graph: int | None, node: int | None) -> tuple[int, int]:
    """The graph and the node that are drawn."""
    from gredkit.inference.distance.sample import asked

    count = len(task.graphs)
    if graph is None:
        graph = next(iter(task.splits["validation"]), 0)
    if not 0 <= graph < count:
        raise UserError(f"--graph: {task.name} has graphs 0 to {count - 1}, not {graph}")
    nodes = task.graphs[graph].num_nodes or 0
    if node is None:
        node = next(iter(asked(task.graphs[graph], task.spec.level).tolist()), 0)
    if not 0 <= node < nodes:
        raise UserError(f"--node: graph {graph} of {task.name} has nodes 0 to {nodes - 1}, not {node}")
    return graph, node


if __name__ == "__main__":
    command(main)
