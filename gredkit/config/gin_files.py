"""Find gin files and read their text, together with the files that they include."""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from gredkit.errors import UserError
from gredkit.names import nearest
from gredkit.paths import SHIPPED

ROOTS = (Path(), SHIPPED)  # where gin files are looked for: the working folder wins
INCLUDE = re.compile(r"^[ \t]*include[ \t]+(['\"])(.+?)\1", re.MULTILINE)


def find(file: str) -> str:
    """The path of a gin file: in the working folder, or else among the files that come with gredkit."""
    for root in ROOTS:
        if (root / file).is_file():
            return str(root / file)
    if file and (Path(file).exists() and not Path(file).is_file()):
        raise UserError(f"{file!r} is {'a folder' if Path(file).is_dir() else 'not a regular file'}: name a gin file")
    raise UserError(missing_file(file))


def texts(files: Iterable[str]) -> list[str]:
    """The texts of the files and of all files that they include; raises if a file includes itself."""
    return [text for file in files for text in _texts(file, ())]


def missing_file(path: str) -> str:
    """The error message for a missing gin file, with the nearest names that exist."""
    folder = Path(path).parent
    there = {str(folder / file.name) for root in ROOTS for file in (root / folder).glob("*.gin")}
    same_name = sorted(file for file in studies() if Path(file).stem == Path(path).stem)
    if same_name:
        hint = f"did you mean {' or '.join(map(repr, same_name))}?"
    elif there:
        hint = nearest(path, there)
    else:
        hint = f"{folder.as_posix()!r} has no gin files; studies that come with gredkit are {', '.join(studies())}"
    return f"there is no gin file {path!r}: {hint}"


def studies() -> list[str]:
    """The names of the studies that come with gredkit."""
    return sorted(f"ablations/{file.name}" for file in (SHIPPED / "ablations").glob("*.gin"))


def _texts(file: str, inside: tuple[str, ...]) -> Iterator[str]:
    """The texts of one file and its includes; `inside` are the files that included it."""
    path = Path(find(file))
    name = str(path.resolve())
    if name in inside:
        raise UserError(f"{file} includes itself, through {' and '.join(inside[inside.index(name) :])}: remove one")
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise UserError(f"{file} is not a text file: name a gin file, or save it as UTF-8") from None
    except OSError as error:
        raise UserError(f"{file} cannot be read: {(error.strerror or str(error)).lower()}") from None
    if "\0" in text:
        raise UserError(f"{file} is not a text file: name a gin file")
    yield text
    for included in INCLUDE.findall(text):
        yield from _texts(included[1], (*inside, name))
