"""Options that several commands share."""

import argparse
import os

from gredkit import config
from gredkit.ablation import study  # noqa: F401  what a study's gin file binds is known from here on


def add_options(parser: argparse.ArgumentParser, gin_required: bool = False) -> None:
    """`--gin`, `--set`, `--import` and `--data`."""
    add = parser.add_argument
    add("--gin", action="append", default=[], required=gin_required, metavar="FILE", help="may be repeated")
    add("--set", action="append", default=[], metavar="BINDING=VALUE", help="a gin binding; may be repeated")
    add_import(parser)
    add("--data", metavar="FOLDER", help="where datasets lie; $GREDKIT_DATA or a cache folder of yours by default")


def add_import(parser: argparse.ArgumentParser) -> None:
    """`--import`, for components of the user's own."""
    said = "a module of your own that registers components; may be repeated"
    parser.add_argument("--import", dest="modules", action="append", default=[], metavar="MODULE", help=said)


def apply_options(arguments: argparse.Namespace) -> None:
    """Import, read gin files and bindings, and say where the data lies, to this process and its children."""
    if arguments.data:
        os.environ["GREDKIT_DATA"] = os.path.abspath(arguments.data)
    config.import_modules(arguments.modules)
    config.load(arguments.gin, arguments.set)
