"""JSON objects that can tell whether they still are what was written: each carries a checksum of itself."""

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
    """What lies in a file is not what was written there."""


def seal(values: Mapping[str, Any]) -> str:
    """One line of JSON."""
    return json.dumps({**values, SEAL: _checksum(values)})


def unseal(text: bytes) -> dict[str, Any]:
    """The object that was sealed; `Damaged` for anything else."""
    try:
        values = json.loads(text)
        if isinstance(values, dict) and values.pop(SEAL, None) == _checksum(values):
            return values
    except (ValueError, RecursionError):  # no JSON, no UTF-8, or brackets without end
        pass
    raise Damaged("it is not what was written")


def write(path: Path, values: Mapping[str, Any]) -> None:
    """In one step, so that a reader sees the old file or the new one."""
    unfinished = path.with_name(f"{path.name}.unfinished")
    with writing(path.parent):
        with unfinished.open("w") as file:
            file.write(seal(values))
            file.flush()
            os.fsync(file.fileno())
        os.replace(unfinished, path)


def _checksum(values: Mapping[str, Any]) -> str:
    return xxhash.xxh3_64_hexdigest(json.dumps(values).encode())
