"""python -m gredkit.components [KIND …] [--import MODULE]: what there is to choose from."""

import argparse
from collections.abc import Mapping

from rich.table import Table

from gredkit.cli import add_import, console, import_all
from gredkit.config import CONFIGURABLES
from gredkit.errors import command
from gredkit.registry import REGISTRIES, Component, describe, hyperparameters


def table(title: str, components: Mapping[str, Component]) -> Table:
    """One row a component: name, description, parameters with their defaults."""
    result = Table(title=title, title_justify="left", title_style="bold", expand=False)
    result.add_column("name", no_wrap=True)
    result.add_column("description", ratio=2)
    result.add_column("parameters", ratio=1)
    for name, component in components.items():
        parameters = ", ".join(f"{key}={value!r}" for key, value in hyperparameters(component).items())
        result.add_row(name, describe(component), parameters)
    return result


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m gredkit.components", description="List the components.")
    kinds: dict[str, Mapping[str, Component]] = {**REGISTRIES, "settings": CONFIGURABLES}
    parser.add_argument("kinds", nargs="*", metavar="KIND", help=f"any of {', '.join(kinds)}; all by default")
    add_import(parser)
    arguments = parser.parse_args()
    if unknown := [kind for kind in arguments.kinds if kind not in kinds]:
        parser.error(f"unknown kind {unknown[0]!r}: choose from {', '.join(kinds)}")
    import_all(arguments.modules)
    for kind in arguments.kinds or kinds:
        console().print(table(kind, kinds[kind]))


if __name__ == "__main__":
    command(main)
