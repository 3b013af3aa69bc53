"""Sentences and tables break at spaces in a terminal and nowhere in a pipe."""

import io

import pytest
from helpers.terminals import run_in_terminal
from rich.console import Console

from gredkit.system.printing import print_table, say, say_command

SENTENCE = (
    "lru is ahead of lstm on ring_transfer by 0.295 accuracy (95 % interval -0.0454 to 0.635): 3 seeds suggest it, but "
    "at least 5 decide. Left out: 1 seed that did not finish for both."
)
ROWS = [["lru with a long name of several words", "19,589"], ["[b]rnn[/b] :smile:", "17,541"]]


def printed(show, columns: int | None) -> list[str]:
    """The lines in a terminal of a width, or in a pipe."""
    out = io.StringIO()
    show(Console(file=out, width=columns or 80, force_terminal=columns is not None, color_system=None))
    return out.getvalue().splitlines()


@pytest.mark.parametrize("columns", [40, 80, 100, 160])
def test_a_terminal_wraps_a_sentence_between_words(columns):
    lines = printed(lambda console: say(console, SENTENCE, indent=3), columns)
    assert " ".join(line.strip() for line in lines) == SENTENCE
    assert max(map(len, lines)) <= columns
    assert all(line.startswith("   ") for line in lines[1:])


def test_a_pipe_has_one_line_per_sentence():
    assert printed(lambda console: say(console, SENTENCE), None) == [SENTENCE]


@pytest.mark.parametrize("columns", [None, 40])
def test_a_command_and_a_path_stay_whole(columns):
    command = "python -m gredkit.predict --run 0123456789abcdef --data ring_transfer --split test"
    assert printed(lambda console: say_command(console, "use", command), columns) == [f"use: {command}"]
    path = "/a/folder/with/a/rather/long/name/that/does/not/fit/on/one/line.html"
    lines = printed(lambda console: say(console, f"see {path} for more"), columns)
    assert path in " ".join(lines).split()


def test_a_table_wraps_its_cells_between_words():
    lines = printed(lambda console: print_table(console, ["variant", "parameters"], ROWS), 30)
    assert max(map(len, lines)) <= 30
    words = " ".join(lines).split()
    for word in ("several", "words", "19,589", "parameters", "[b]rnn[/b]", ":smile:"):
        assert word in words


def test_a_table_in_a_pipe_is_markdown_with_one_line_per_row():
    assert printed(lambda console: print_table(console, ["variant", "parameters"], ROWS), None) == [
        "| variant                               | parameters |",
        "|---------------------------------------|------------|",
        "| lru with a long name of several words |     19,589 |",
        "| [b]rnn[/b] :smile:                    |     17,541 |",
    ]


def test_an_error_wraps_between_words_in_a_terminal(tmp_path):
    code, said = run_in_terminal("-m", "gredkit.report", "--study", "tiny", cwd=tmp_path, columns=40)
    assert code == 2
    lines = said.splitlines()
    assert len(lines) > 1
    assert f"there is no database {tmp_path}/mlflow.db: go to the folder of the study" in " ".join(lines)
    assert all(len(line) <= 40 or " " not in line for line in lines)
