"""How sentences and tables reach the user: wrapped at spaces in a terminal, unwrapped in a pipe or a file."""

from collections.abc import Iterable, Sequence

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from gredkit.system.wrapping import wrapped

WIDEST = 100  # columns of a table in a pipe or a file, which have no width of their own


def say(console: Console, sentence: str, indent: int = 0) -> None:
    """Print a sentence. A terminal wraps it at spaces; in a pipe it stays one line, which tools can search.

    `indent` is the number of spaces before all lines but the first.
    """
    for line in wrapped(sentence, console.width, indent) if console.is_terminal else [sentence]:
        console.print(Text(line), soft_wrap=True)


def say_command(console: Console, label: str, command: str) -> None:
    """Print a command on one line that is never wrapped, so that it can be copied."""
    console.print(Text(f"{label}: {command}"), soft_wrap=True)


def room(console: Console) -> int:
    """How many columns a table may have."""
    return console.width if console.is_terminal else WIDEST


def print_table(console: Console, titles: Sequence[str], rows: Iterable[Sequence[str | Text]], names: int = 1) -> None:
    """Print a table without a frame, the first columns (`names`) aligned left and the others right.

    A terminal gets a rule below the head, and a cell that is too wide wraps at a space: no column becomes narrower than
    its longest word. A pipe or a file gets Markdown, as wide as its content, so that each row is one line.
    """
    is_terminal = console.is_terminal
    table = Table(box=box.SIMPLE_HEAD if is_terminal else box.MARKDOWN, show_edge=not is_terminal)
    cells = [[Text(cell) if isinstance(cell, str) else cell for cell in row] for row in rows]
    for place, title in enumerate(titles):
        words = [word for text in (title, *(row[place].plain for row in cells)) for word in text.split()]
        table.add_column(
            Text(title),
            justify="left" if place < names else "right",
            no_wrap=not is_terminal,
            min_width=max(map(len, words), default=0),
        )
    for row in cells:
        table.add_row(*row)
    if is_terminal:
        console.print(table)
        return
    wide = Console(width=100_000)
    for line in wide.render_lines(table, wide.options.update(width=wide.measure(table).maximum)):
        if text := "".join(segment.text for segment in line).rstrip():
            console.print(Text(text), soft_wrap=True)
