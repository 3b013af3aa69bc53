"""python -m gredkit.bench [NAME …] [--json FILE]: what gredkit's speed is, here and now."""

import argparse
import json
import os
from pathlib import Path
from types import ModuleType
from typing import Any

from gredkit.bench import collate, hops, memory, segments, training
from gredkit.bench.measure import environment
from gredkit.cli import console
from gredkit.errors import UserError, command

BENCHMARKS: dict[str, ModuleType] = {
    "hops": hops,
    "segments": segments,
    "collate": collate,
    "memory": memory,
    "training": training,
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m gredkit.bench", description="Measure gredkit's speed.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"any of {', '.join(BENCHMARKS)}; all by default")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the numbers to this file, too")
    parser.add_argument("--data", metavar="FOLDER", help="where datasets lie, for benchmarks that use real ones")
    parser.add_argument("--quick", action="store_true", help="try everything once, small: its numbers mean nothing")
    arguments = parser.parse_args()
    if arguments.data:
        os.environ["GREDKIT_DATA"] = arguments.data
    if unknown := [name for name in arguments.names if name not in BENCHMARKS]:
        parser.error(f"unknown benchmark {unknown[0]!r}: choose from {', '.join(BENCHMARKS)}")
    if arguments.json and not arguments.json.absolute().parent.is_dir():
        raise UserError(f"there is no folder {str(arguments.json.absolute().parent)!r} to write the numbers to")

    out = console()
    result: dict[str, Any] = {"environment": environment()}
    out.print(_describe(result["environment"]))
    for name in dict.fromkeys(arguments.names or BENCHMARKS):
        result[name] = BENCHMARKS[name].run(arguments.quick)
        out.print(BENCHMARKS[name].table(result[name]))
    if arguments.json:
        arguments.json.write_text(json.dumps(result, indent=2) + "\n")


def _describe(environment: dict[str, Any]) -> str:
    packages = ", ".join(f"{name} {found}" for name, found in environment["packages"].items())
    load = " ".join(f"{one:.2f}" for one in environment["load_average"])
    return f"{environment['cpus']} CPUs, {environment['threads']} threads, load {load}; {packages}"


if __name__ == "__main__":
    command(main)
