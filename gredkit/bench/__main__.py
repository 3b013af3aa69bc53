"""python -m gredkit.bench [NAME …] [--json FILE] [--picture FILE]: measure gredkit's speed on this machine."""

import argparse
import json
from collections.abc import Callable, Iterable
from importlib import import_module
from pathlib import Path
from typing import Any

from rich.table import Table

from gredkit.cli import Parser, console, prepare_process
from gredkit.errors import UserError, command
from gredkit.names import nearest

BENCHMARKS = {  # each is a module of this folder, with `run(quick)` and `table(result)`
    "hops": "the hop index of a graph, compared with all-pairs distances",
    "segments": "sums, means and maxima over hop sets",
    "collate": "the share of a training step that is spent on making its batch",
    "memory": "peak memory while preparing Peptides-func",
    "encoders": "a training step with each encoder, compared with the LRU and with PyTorch's modules",
    "training": "a training step, compared with the dense oracle and GPS: less than 10 minutes on 2 cores",
    "launches": "the operations of a training step, which are launches on a GPU, of every model",
    "busy": "a training step beside busy processes, compared with the same step alone",
    "growth": "how time and memory of a step grow with hops and nodes",
    "startup": "time of imports, and from the start of a trial to its first step",
    "report": "the report of a study of many trials",
    "decisions": "how often reports are wrong and how often they have an answer, in simulated studies: 5 minutes",
}
PROFILED = ("zinc", "peptides", "cifar10")  # of gredkit.bench.settings


def main() -> None:
    listed = "; ".join(f"{name}: {about}" for name, about in BENCHMARKS.items())
    parser = Parser(
        prog="python -m gredkit.bench",
        description="Measure gredkit's speed. All benchmarks take about 20 minutes on 2 cores.",
        epilog=f"{listed}. With --profile the names are {', '.join(PROFILED)}.",
    )
    add = parser.add_argument
    add("names", nargs="*", metavar="NAME", help=f"any of {', '.join(BENCHMARKS)}; all by default")
    add("--profile", action="store_true", help="show instead how much time each part of the model takes")
    add("--json", type=Path, metavar="FILE", help="also write the numbers to this file")
    add("--picture", type=Path, metavar="FILE.png", help="draw training and growth, as PNG and PDF")
    add("--data", metavar="FOLDER", help="folder of the datasets; without files, synthetic graphs of the same sizes")
    add("--quick", action="store_true", help="run everything once at a small size; the numbers mean nothing")
    arguments = parser.parse_args()
    prepare_process(arguments)
    known: Iterable[str] = PROFILED if arguments.profile else BENCHMARKS
    if unknown := [name for name in arguments.names if name not in known]:
        raise UserError(f"there is no {_kind(arguments)} {unknown[0]!r}: {nearest(unknown[0], known)}")
    names = list(dict.fromkeys(arguments.names or (["zinc"] if arguments.profile else BENCHMARKS)))
    for file in (arguments.json, arguments.picture):
        if file and not file.absolute().parent.is_dir():
            raise UserError(f"there is no folder {str(file.absolute().parent)!r} to write the numbers to")
    if arguments.picture:
        _check_picture(arguments.picture, names)

    from gredkit.bench import profile  # PyTorch is imported only after the options have been read
    from gredkit.bench.measure import environment

    out = console()
    result: dict[str, Any] = {"environment": environment()}
    out.print(_describe(result["environment"]))
    if arguments.profile:
        result["profile"] = profile.run(names, arguments.quick)
        out.print(profile.table(result["profile"]))
    else:
        for name in names:
            run, table = _benchmark(name)
            result[name] = run(arguments.quick)
            out.print(table(result[name]))
    if arguments.json:
        arguments.json.write_text(json.dumps(result, indent=2) + "\n")
    if arguments.picture:
        from gredkit.bench import picture  # seaborn takes a second to import

        picture.draw(result, arguments.picture)


def _benchmark(name: str) -> tuple[Callable[[bool], dict[str, Any]], Callable[[dict[str, Any]], Table]]:
    module = import_module(f"gredkit.bench.{name}")
    return module.run, module.table


def _kind(arguments: argparse.Namespace) -> str:
    return "setting" if arguments.profile else "benchmark"


def _check_picture(file: Path, names: Iterable[str]) -> None:
    if file.suffix != ".png":
        raise UserError(f"--picture needs the name of a PNG file, not {file.name!r}; a PDF is written beside it")
    if not {"training", "growth"} & set(names):
        raise UserError("--picture draws the benchmarks training and growth: name one of them")


def _describe(environment: dict[str, Any]) -> str:
    packages = ", ".join(f"{name} {found}" for name, found in environment["packages"].items())
    load = " ".join(f"{one:.2f}" for one in environment["load_average"])
    return f"{environment['cpus']} CPUs, {environment['threads']} threads, load {load}; {packages}"


if __name__ == "__main__":
    command(main)
