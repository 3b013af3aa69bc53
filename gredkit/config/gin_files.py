"""Gin files: where they lie, and what stands in them and in those that they include."""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from gredkit.errors import UserError
from gredkit.names import nearest
from gredkit.paths import SHIPPED

ROOTS = (Path(), SHIPPED)  # where gin files are looked for: the working folder wins
INCLUDE = re.compile(r"^[ \t]*include[ \t]+(['\"])(.+?)\1", re.MULTILINE)


def find(file: str) -> str:
    """The path of a gin file: from the working folder, or of those that come with gredkit."""
    for root in ROOTS:
        if (root / file).is_file():
            return str(root / file)
    if file and (Path(file).exists() and not Path(file).is_file()):
        raise UserError(f"{file!r} is {'a folder' if Path(file).is_dir() else 'no file'}: name a gin file")
    raise UserError(missing_file(file))


def texts(files: Iterable[str]) -> list[str]:
    """What stands in files and in those that they include; one that comes to include itself is a mistake."""
    return [text for file in files for text in _texts(file, ())]


def missing_file(path: str) -> str:
    """The sentence about a gin file that is not there, with those that are."""
    folder = Path(path).parent
    there = {str(folder / file.name) for root in ROOTS for file in (root / folder).glob("*.gin")}
    hint = nearest(path, there) if there else f"there is none at all in {folder.as_posix()!r}"
    return f"there is no gin file {path!r}: {hint}"


def _texts(file: str, inside: tuple[str, ...]) -> Iterator[str]:
    """`inside` are the files that led to this one."""
    path = Path(find(file))
    name = str(path.resolve())
    if name in inside:
        raise UserError(f"{file} includes itself, by way of {' and '.join(inside[inside.index(name) :])}: remove one")
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise UserError(f"{file} is no text: name a gin file, or save it as UTF-8") from None
    except OSError as error:
        raise UserError(f"{file} cannot be read: {(error.strerror or str(error)).lower()}") from None
    if "\0" in text:
        raise UserError(f"{file} is no text: name a gin file")
    yield text
    for included in INCLUDE.findall(text):
        yield from _texts(included[1], (*inside, name))
