"""Sentences in a terminal: lines end between words."""

import shutil
import sys
import textwrap


def wrapped(sentence: str, width: int, indent: int = 0) -> list[str]:
    """The lines of a sentence. A path or name that is longer than a line stays whole."""
    wrapper = textwrap.TextWrapper(
        width=width, subsequent_indent=" " * indent, break_long_words=False, break_on_hyphens=False
    )
    return wrapper.wrap(sentence) or [""]


def print_error(sentence: str) -> None:
    """Print a sentence to stderr: wrapped at spaces in a terminal, one line in a pipe or a file."""
    for line in wrapped(sentence, shutil.get_terminal_size().columns) if sys.stderr.isatty() else [sentence]:
        print(line, file=sys.stderr)
