"""Files that somebody else may have made, or that a disk has damaged: read within limits, and never waited for."""

import json
import math
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

MOST = 10_000_000  # bytes of JSON


class Unreadable(Exception):
    """What lies in a file is not what is expected there; the message says why, as a part of a sentence."""


@contextmanager
def open_file(path: Path, most: int | None = None) -> Iterator[BinaryIO]:
    """A file to read; a pipe, a device or a folder is none, and neither is a file of more than `most` bytes."""
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
        about = os.fstat(descriptor)
        if not stat.S_ISREG(about.st_mode):
            os.close(descriptor)
            raise Unreadable("it is no file")
        with open(descriptor, "rb") as file:
            if most is not None and about.st_size > most:
                raise Unreadable(f"it has {about.st_size:,} bytes, and at most {most:,} are expected")
            yield file
    except FileNotFoundError:
        raise
    except OSError as error:
        raise Unreadable(error.strerror or str(error)) from None


def read_bytes(path: Path, most: int | None = None) -> bytes:
    """The content of such a file."""
    with open_file(path, most) as file:
        return file.read()


def read_json(path: Path) -> Any:
    """What a file of JSON says, with finite numbers alone."""
    return parse_json(read_bytes(path, MOST))


def parse_json(content: bytes | str) -> Any:
    """What JSON says: finite numbers, no name twice in an object, and no deeper than Python can follow."""
    try:
        text = content.decode() if isinstance(content, bytes) else content
        return json.loads(text, parse_constant=_finite, parse_float=_finite, object_pairs_hook=_once)
    except RecursionError:
        raise Unreadable("it is nested too deeply") from None
    except ValueError as error:  # of JSON, of UTF-8, or a number of thousands of digits
        raise Unreadable(" ".join(str(error).split())) from None


def _finite(said: str) -> float:
    if not math.isfinite(value := float(said)):
        raise ValueError(f"{said} is no finite number")
    return value


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        raise ValueError("a name stands twice in an object")
    return made
