"""gredkit COMMAND …: the console command, which `python -m gredkit COMMAND …` is as well."""

import sys
from importlib import import_module

from gredkit import __version__
from gredkit.cli import Parser
from gredkit.errors import UserError, command
from gredkit.names import nearest

COMMANDS = {  # each has a module with a `main`, which is imported when the command is named
    "run": ("gredkit.run", "train every trial of a study, track it, write the report"),
    "report": ("gredkit.report", "write the report of a study again, from MLflow"),
    "predict": ("gredkit.predict", "use a trained model on new graphs"),
    "explain": ("gredkit.explain", "look at which distance a trained model hears"),
    "components": ("gredkit.components", "list what there is to choose from, and the gin files that come with gredkit"),
    "copy": ("gredkit.copying", "put a gin file that comes with gredkit into this folder, to edit it"),
    "data": ("gredkit.data.__main__", "list, prepare, describe and draw datasets"),
    "bench": ("gredkit.bench.__main__", "measure gredkit's speed"),
}


def main() -> None:
    """What the entry point of the package calls."""
    command(_named)


def _named() -> None:
    """Hand the rest of the command line over to the command that is named first."""
    parser = Parser(prog="gredkit", description="Ablations of GRED, the graph model that reads hops with a linear RNN.")
    parser.add_argument("--version", action="version", version=f"gredkit {__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", title="commands, each with a --help of its own")
    for name, (_, about) in COMMANDS.items():
        commands.add_parser(name, help=about, add_help=False)
    first = sys.argv[1] if len(sys.argv) > 1 else "--help"
    if first.startswith("-"):
        parser.parse_args([first])
        return
    if first not in COMMANDS:
        raise UserError(f"there is no command {first!r}: {nearest(first, COMMANDS)}")
    sys.argv[:2] = [f"gredkit {first}"]
    import_module(COMMANDS[first][0]).main()


if __name__ == "__main__":
    main()
