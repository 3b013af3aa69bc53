"""Options that several commands share."""

import argparse
import logging
import os
import re
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from rich.console import Console

from gredkit.config import gin_files
from gredkit.errors import UserError
from gredkit.imports import check_name, import_own
from gredkit.names import nearest

if TYPE_CHECKING:
    from gredkit.config.configuration import Configuration


KNOBS = {  # what a user may expect to be an option, and the gin macro that it is
    "epochs": "EPOCHS=20",
    "seed": "SEEDS=(0,)",
    "seeds": "SEEDS=(0, 1, 2)",
    "dataset": "DATASETS=('digits',)",
    "datasets": "DATASETS=('digits',)",
    "budget": "BUDGET='smoke'",
    "layers": "LAYERS=4",
    "dim": "DIM=72",
    "k": "K=4",
    "dropout": "DROPOUT=0.1",
    "lr": "LEARNING_RATE=0.001",
    "learning-rate": "LEARNING_RATE=0.001",
    "batch-size": "BATCH_SIZE=32",
}


class Parser(argparse.ArgumentParser):
    """Reads a command line; a mistake in it becomes a `UserError`.

    `prog` is the command as `python -m` starts it; if it was started as `gredkit NAME`, its help says so.
    """

    def __init__(self, prog: str, **settings: Any):
        is_console = sys.argv[0].startswith("gredkit ")  # gredkit.__main__ has put it there
        super().__init__(re.sub(r"^python -m gredkit\.", "gredkit ", prog) if is_console else prog, **settings)

    def error(self, message: str) -> NoReturn:
        if found := re.match(r"unrecognized arguments: (\S+)", message):
            known = [option for action in self._actions for option in action.option_strings]
            knob = KNOBS.get(found[1].lstrip("-").partition("=")[0].replace("_", "-").lower())
            if knob and "--set" in known:
                raise UserError(f'there is no option {found[1]!r}: write --set "{knob}", with a value of your own')
            raise UserError(f"there is no option {found[1]!r}: {nearest(found[1], known)}")
        if message.endswith("required: --gin"):
            given = [word for word in sys.argv[1:] if word.endswith(".gin")]
            study = given[0] if given else "ablations/rnn_flavors.gin"
            example = "" if given else ", for example"
            raise UserError(f"--gin is missing, which names the study: write --gin {study}{example}")
        raise UserError(f"{message}; --help lists the options")


def add_options(parser: argparse.ArgumentParser, gin_required: bool = False) -> None:
    """Add `--gin`, `--set`, `--import` and `--data`."""
    add = parser.add_argument
    add("--gin", action="append", default=[], required=gin_required, metavar="FILE", help="a gin file; may be repeated")
    add("--set", action="append", default=[], metavar="BINDING=VALUE", help="a gin binding; may be repeated")
    add_import(parser)
    add("--data", metavar="FOLDER", help="folder of the datasets; $GREDKIT_DATA or your cache folder by default")


def add_import(parser: argparse.ArgumentParser) -> None:
    """Add `--import`, for the user's own components."""
    said = "a module of your own that registers components; may be repeated"
    parser.add_argument("--import", dest="modules", action="append", default=[], metavar="MODULE", help=said)


def import_all(modules: Iterable[str]) -> None:
    """Import modules; each registers its components while it loads."""
    for module in modules:
        import_own(module)


def console() -> Console:
    """The console for tables. A pipe has no width, and a guess that is too small would break names."""
    if sys.stdout.isatty():
        return Console()
    return Console(width=160, force_terminal=False)  # also where Jupyter sets FORCE_COLOR


def prepare_process(arguments: argparse.Namespace) -> None:
    """Show gredkit's log, and tell this process and its children where the datasets are."""
    logging.basicConfig(format="%(message)s")
    logging.getLogger("gredkit").setLevel(logging.INFO)
    for module in getattr(arguments, "modules", ()):
        check_name(module)
    if arguments.data and Path(arguments.data).is_file():
        raise UserError(f"--data {arguments.data!r} is a file: name a folder")
    if arguments.data:
        os.environ["GREDKIT_DATA"] = os.path.abspath(arguments.data)


def apply_options(arguments: argparse.Namespace) -> "Configuration":
    """The configuration of a command that is about one trial."""
    prepare_process(arguments)
    gin_files.texts(arguments.gin)
    from gredkit.config.source import Source  # needs PyTorch, which `--help` does without

    return Source(tuple(arguments.gin), tuple(arguments.set), tuple(arguments.modules)).load()
