"""gredkit copy FILE …: put gin files that come with gredkit into this folder, to edit them."""

from gredkit.cli import Parser
from gredkit.config.shipped import copy
from gredkit.errors import command


def main() -> None:
    parser = Parser(prog="gredkit copy", description="Put gin files that come with gredkit into this folder.")
    said = "such as ablations/rnn_flavors.gin; gredkit components --gin lists them"
    parser.add_argument("files", nargs="+", metavar="FILE", help=said)
    for file in parser.parse_args().files:
        print(f"{copy(file)} is in this folder now, and is used instead of the one that comes with gredkit")


if __name__ == "__main__":
    command(main)
