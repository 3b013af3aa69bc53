"""python -m gredkit.data list | prepare NAME [-K 8] | describe NAME | draw NAME --index 3 --node 0 | subset NAME"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from rich.table import Table

from gredkit.cli import Parser, add_options, apply_options, console
from gredkit.components import show
from gredkit.errors import UserError, command
from gredkit.registry import DATASETS, POSITIONAL
from gredkit.system.writing import CannotWrite, write_figure, writing

if TYPE_CHECKING:  # slow imports wait until the options have been read
    from gredkit.data.task import Task


def dataset(arguments: argparse.Namespace) -> Task:
    """The dataset named on the command line, as gin configures it."""
    return arguments.configuration.component(DATASETS, arguments.name)()


def list_datasets(arguments: argparse.Namespace) -> None:
    show(DATASETS.plural, DATASETS)


def prepare_dataset(arguments: argparse.Namespace) -> None:
    from gredkit.data.hops.cache import prepare
    from gredkit.data.hops.structure import Hops

    task = dataset(arguments)
    positional = arguments.configuration.component(POSITIONAL, arguments.positional)()
    graphs = prepare(task.graphs, [Hops(arguments.K), positional])
    print(f"{arguments.name}: {len(graphs):,} graphs are ready, {_size(task)}")


def describe_dataset(arguments: argparse.Namespace) -> None:
    from gredkit.data.describe import describe
    from gredkit.data.hops.cache import prepare
    from gredkit.data.hops.structure import Hops

    task = dataset(arguments)
    full = prepare(task.graphs, [Hops(None)])
    graphs = full if arguments.K is None else prepare(task.graphs, [Hops(arguments.K)])
    reach = "diameter" if arguments.K is None else str(arguments.K)
    shown = Table(title=f"{arguments.name}, K = {reach}", title_justify="left", title_style="bold", show_header=False)
    for row in (*describe(task, graphs, full), ("cache", _size(task))):
        shown.add_row(*row)
    console().print(shown)


def draw_dataset(arguments: argparse.Namespace) -> None:
    from gredkit.data.draw import draw

    task = dataset(arguments)
    if not 0 <= arguments.index < len(task.graphs):
        raise UserError(f"{arguments.name} has graphs 0 to {len(task.graphs) - 1}, not {arguments.index}")
    graph = task.graphs[arguments.index]
    if not 0 <= arguments.node < graph.num_nodes:
        raise UserError(f"graph {arguments.index} has nodes 0 to {graph.num_nodes - 1}, not {arguments.node}")
    out = Path(arguments.out or f"{arguments.name}-{arguments.index}-{arguments.node}.png")
    title = f"{arguments.name}, graph {arguments.index}: {graph.num_nodes} nodes"
    figure = draw(graph, arguments.node, arguments.K, title)
    try:
        write_figure(figure, out)
    except CannotWrite:
        raise
    except (OSError, ValueError) as error:
        raise UserError(f"cannot write {out}: {error}") from None
    print(f"drawn in {out}")


def draw_subset(arguments: argparse.Namespace) -> None:
    from gredkit.data import subsets

    task = dataset(arguments)
    sizes = {split: getattr(arguments, split) for split in ("train", "validation", "test")}
    drawn = subsets.draw(task, sizes, arguments.seed)
    out = Path(arguments.out or f"{arguments.name}.json")
    with writing(out.parent):
        subsets.write(out, arguments.name, task, drawn, arguments.seed)
    print(f"{', '.join(f'{size:,} {split}' for split, size in sizes.items())} graphs of {arguments.name} are in {out}")


def _size(task: Task) -> str:
    """How much space these graphs take in the cache, over all K and positional encodings."""
    from gredkit.data.hops.cache import fingerprint
    from gredkit.paths import hop_cache

    files = hop_cache().glob(f"*-{fingerprint(task.graphs)}-*/*")
    return f"{sum(file.stat().st_size for file in files) / 1e6:,.2f} MB in {hop_cache()}"


def main() -> None:
    parser = Parser(prog="python -m gredkit.data", description="List, prepare, describe and draw datasets.")
    actions = parser.add_subparsers(required=True, metavar="list | prepare | describe | draw | subset")
    add = actions.add_parser("list", help="list all datasets with their parameters")
    add.set_defaults(do=list_datasets)
    add_options(add)
    for name, do, said in (
        ("prepare", prepare_dataset, "load a dataset and store its hop index in the cache"),
        ("describe", describe_dataset, "show counts, degrees, diameters, labels and hop sets"),
        ("draw", draw_dataset, "draw a graph coloured by the distance to a node"),
    ):
        add = actions.add_parser(name, help=said)
        add.set_defaults(do=do)
        add.add_argument("name", metavar="NAME")
        add.add_argument("-K", type=int, default=None, help="the last hop; the diameter by default")
        add_options(add)
        if name == "prepare":
            add.add_argument("--positional", default="none", metavar="NAME", help="a positional encoding to prepare")
        if name == "draw":
            add.add_argument("--index", type=int, default=0, help="which graph")
            add.add_argument("--node", type=int, default=0, help="which node to measure from")
            add.add_argument("--out", metavar="FILE", help="a .png, .pdf or .svg; NAME-INDEX-NODE.png by default")
    add = actions.add_parser("subset", help="draw a fixed part of a dataset, for the dataset `subset`")
    add.set_defaults(do=draw_subset)
    add.add_argument("name", metavar="NAME")
    for split in ("train", "validation", "test"):
        add.add_argument(f"--{split}", type=int, required=True, metavar="N", help=f"graphs of the {split} split")
    add.add_argument("--seed", type=int, default=0, help="determines the drawing")
    add.add_argument("--out", metavar="FILE", help="a .json; NAME.json by default")
    add_options(add)
    arguments = parser.parse_args()
    arguments.configuration = apply_options(arguments)
    if "K" in arguments:
        from gredkit.data.hops.index import check_K

        check_K(arguments.K)
    arguments.do(arguments)


if __name__ == "__main__":
    command(main)
