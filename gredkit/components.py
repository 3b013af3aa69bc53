"""python -m gredkit.components [KIND …] [--gin] [--import MODULE]: what there is to choose from."""

from collections.abc import Mapping, Sequence
from itertools import groupby
from pathlib import Path

from rich.text import Text

from gredkit.cli import Parser, add_import, console, import_all
from gredkit.config.shipped import purpose, shipped
from gredkit.errors import UserError, command
from gredkit.names import nearest
from gredkit.paths import SHIPPED
from gredkit.registry import REGISTRIES, Component, describe, hyperparameters
from gredkit.system.printing import print_table


def show(kind: str, components: Mapping[str, Component]) -> None:
    """One row per component: name, description, parameters with their defaults."""
    rows = [
        (name, describe(component), ", ".join(f"{key}={value!r}" for key, value in hyperparameters(component).items()))
        for name, component in components.items()
    ]
    show_table(kind, ("name", "description", "parameters"), rows)


def show_gin_files() -> None:
    """One table per folder of the gin files that come with gredkit, and which of them this folder replaces."""
    is_elsewhere = not SHIPPED.samefile(".")
    for folder, files in groupby(shipped(), lambda file: Path(file).parent.as_posix()):
        rows = []
        for file in files:
            replaced = is_elsewhere and Path(file).is_file()
            rows.append((file, f"{purpose(file)}{' (the file in this folder is used instead)' if replaced else ''}"))
        show_table(folder, ("file", "what it is for"), rows)


def show_table(title: str, titles: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    console().print(Text(title, "bold"))
    print_table(console(), titles, rows, names=len(titles))
    console().print()


def main() -> None:
    parser = Parser(prog="python -m gredkit.components", description="List the components.")
    known = (*REGISTRIES, "settings")
    parser.add_argument("kinds", nargs="*", metavar="KIND", help=f"any of {', '.join(known)}; all by default")
    parser.add_argument("--gin", action="store_true", help="the studies and blocks that come with gredkit instead")
    add_import(parser)
    arguments = parser.parse_args()
    if unknown := [kind for kind in arguments.kinds if kind not in known]:
        raise UserError(f"there is no kind {unknown[0]!r}: {nearest(unknown[0], known)}")
    if arguments.gin:
        show_gin_files()
        if not arguments.kinds:
            return
    import_all(arguments.modules)
    from gredkit.config.configuration import SETTINGS  # which needs PyTorch

    kinds: dict[str, Mapping[str, Component]] = {**REGISTRIES, "settings": SETTINGS}
    for kind in arguments.kinds or kinds:
        show(kind, kinds[kind])


if __name__ == "__main__":
    command(main)
