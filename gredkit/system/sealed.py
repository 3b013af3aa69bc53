"""JSON objects with a checksum of their own content, so that damage is noticed when they are read."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import xxhash

from gredkit.errors import UserError
from gredkit.system.writing import writing

SEAL = "checksum"


class Damaged(UserError):
    """The content of a file or a folder is not what was written to it."""


def seal(values: Mapping[str, Any]) -> str:
    """The values and their checksum as one line of JSON."""
    return json.dumps({**values, SEAL: _checksum(values)})


def unseal(text: bytes) -> dict[str, Any]:
    """The values that were sealed; raises `Damaged` if the checksum does not match."""
    try:
        values = json.loads(text)
        if isinstance(values, dict) and values.pop(SEAL, None) == _checksum(values):
            return values
    except (ValueError, RecursionError):  # not JSON, not UTF-8, or nested too deeply
        pass
    raise Damaged("its content has changed since it was written")


def write(path: Path, values: Mapping[str, Any]) -> None:
    """Seal the values and write them in one step, so that a reader sees either the old file or the new one."""
    unfinished = path.with_name(f"{path.name}.unfinished")
    with writing(path.parent):
        with unfinished.open("w") as file:
            file.write(seal(values))
            file.flush()
            os.fsync(file.fileno())
        os.replace(unfinished, path)


def _checksum(values: Mapping[str, Any]) -> str:
    return xxhash.xxh3_64_hexdigest(json.dumps(values).encode())
