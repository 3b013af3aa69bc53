"""Read files that somebody else may have made or a disk may have damaged: with size limits, never blocking."""

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
    """A file does not contain what is expected; the message gives the reason as part of a sentence."""


@contextmanager
def open_file(path: Path, most: int | None = None) -> Iterator[BinaryIO]:
    """Open a regular file of at most `most` bytes for reading; pipes, devices and folders are refused."""
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
        about = os.fstat(descriptor)
        if not stat.S_ISREG(about.st_mode):
            os.close(descriptor)
            raise Unreadable("it is not a regular file")
        with open(descriptor, "rb") as file:
            if most is not None and about.st_size > most:
                raise Unreadable(f"it has {about.st_size:,} bytes, but at most {most:,} are expected")
            yield file
    except FileNotFoundError:
        raise
    except OSError as error:
        raise Unreadable(error.strerror or str(error)) from None


def read_bytes(path: Path, most: int | None = None) -> bytes:
    """The content of a file opened with `open_file`."""
    with open_file(path, most) as file:
        return file.read()


def parse_json(content: bytes | str) -> Any:
    """Parse JSON strictly: finite numbers, no repeated name in an object, no nesting too deep for Python."""
    try:
        text = content.decode() if isinstance(content, bytes) else content
        return json.loads(text, parse_constant=_finite, parse_float=_finite, object_pairs_hook=_once)
    except RecursionError:
        raise Unreadable("it is nested too deeply") from None
    except ValueError as error:  # not JSON, not UTF-8, or a number with thousands of digits
        raise Unreadable(" ".join(str(error).split())) from None


def _finite(said: str) -> float:
    if not math.isfinite(value := float(said)):
        raise ValueError(f"{said} is not a finite number")
    return value


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        raise ValueError("a name appears twice in an object")
    return made
