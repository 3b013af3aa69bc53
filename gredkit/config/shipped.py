"""The gin files that come with gredkit: studies in `ablations/`, blocks in `gin/`."""

import os
import shutil
from pathlib import Path

from gredkit.errors import UserError
from gredkit.names import nearest
from gredkit.paths import SHIPPED
from gredkit.system.writing import writing

FOLDERS = ("ablations", "gin")


def shipped() -> list[str]:
    """Their names, as `--gin` and `include` take them."""
    found = (file for folder in FOLDERS for file in (SHIPPED / folder).rglob("*.gin"))
    return sorted(file.relative_to(SHIPPED).as_posix() for file in found)


def purpose(file: str) -> str:
    """What one of them is for: the first line of its header, without the name."""
    first = (SHIPPED / file).read_text(encoding="utf-8").partition("\n")[0]
    return first.removeprefix(f"# {file}: ")


def copy(file: str) -> Path:
    """Put one of them into the working folder under the same name, where it is found first from then on."""
    name = Path(os.path.normpath(file)).as_posix()
    if name not in shipped():
        raise UserError(f"gredkit has no gin file {file!r}: {nearest(name, shipped())}")
    copied = Path(name)
    if os.path.lexists(copied):
        raise UserError(f"{name} is in this folder already: edit it, or move it away to copy it again")
    with writing(copied.parent):
        copied.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(SHIPPED / name, copied)
    return copied
