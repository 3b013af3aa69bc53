"""README.md and docs/*.md: their code blocks, and the commands in them."""

import re
import shlex

from helpers.commands import ROOT

PAGES = {path.relative_to(ROOT).as_posix(): path.read_text() for path in [ROOT / "README.md", *ROOT.glob("docs/*.md")]}
ALL = "\n".join(PAGES.values())


def block(page: str, marker: str, language: str) -> str:
    """The code block that follows a line of text."""
    after = PAGES[page].split(marker, 1)[1]
    found = re.search(rf"```{language}\n(.*?)```", after, re.DOTALL)
    assert found, marker
    return found.group(1)


def parsed(lines: list[str]) -> list[list[str]]:
    """The commands of gredkit as words after `python`, without comments; no `make`, no `pip`, no `gredkit run …`."""
    words = [shlex.split(line, comments=True) for line in lines if "…" not in line]
    long = [["python", "-m", *line] if line[:1] == ["gredkit"] else line for line in words]  # the console command
    return [line[1:] for line in long if line[:1] == ["python"]]


def commands(page: str, marker: str) -> list[list[str]]:
    """The commands of the block of bash that follows a line of text."""
    return parsed(block(page, marker, "bash").splitlines())


def all_commands() -> list[list[str]]:
    """Those of every block of bash and those within the text and its tables, each once."""
    found = re.findall(r"```(\w*)\n(.*?)```|`((?:python|gredkit) [^`]+)`", ALL, re.DOTALL)
    lines = [one for kind, text, inline in found for one in (text.splitlines() if kind == "bash" else [inline]) if one]
    return [list(one) for one in dict.fromkeys(map(tuple, parsed(lines)))]
