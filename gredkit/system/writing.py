"""Errors of writing (full disk, no permission) become one sentence that names the folder."""

import errno
import io
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from gredkit.errors import UserError

FULL = (errno.ENOSPC, errno.EDQUOT)
CLOSED = (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR, errno.EEXIST, errno.EISDIR, errno.ENAMETOOLONG)
BROKEN = (errno.EFBIG, errno.EIO, errno.ENODEV, errno.ESTALE)
DISK = (*FULL, *BROKEN, errno.EROFS)  # these errors concern the whole disk, never a single file
SAID_BY_SQLITE = {"database or disk is full": errno.ENOSPC, "disk I/O error": errno.EIO}
AGAIN = "then run the same command again"
LIMIT = "raise the limit on the size of files (ulimit -f)"


class CannotWrite(UserError):
    """Nothing can be written to a folder. A full disk is not the user's mistake, so the exit code is then 1."""

    def __init__(self, folder: str | Path, number: int, said: str = "", advice: str = ""):
        self.exit_code = 2 if number in CLOSED else 1
        if number in FULL:
            sentence = f"the disk of {folder} is full: free some space"
        else:
            advice = LIMIT if number == errno.EFBIG else advice or "fix this"
            sentence = f"nothing can be written to {folder} ({said or os.strerror(number)}): {advice}"
        super().__init__(f"{sentence}, {AGAIN}")


@contextmanager
def writing(folder: Path, advice: str = "") -> Iterator[None]:
    """Turn errors of writing into `CannotWrite` for this folder; errors about files elsewhere pass through."""
    try:
        yield
    except OSError as error:
        if _is_elsewhere(error, folder) or error.errno not in (*FULL, *CLOSED, *BROKEN):
            raise
        raise CannotWrite(folder, error.errno, advice=advice) from error


def refused_by_disk(error: BaseException) -> int | None:
    """The errno behind an exception of another library, if the cause was an error of writing; else None."""
    seen: BaseException | None = error
    while seen is not None:
        if isinstance(seen, OSError) and seen.errno in (*DISK, errno.EACCES):
            return seen.errno
        seen = seen.__cause__ or seen.__context__
    return next((number for said, number in SAID_BY_SQLITE.items() if said in str(error)), None)


def check_writable(folder: Path, advice: str = "") -> None:
    """Try to create a file and a lock in a folder, which is created if missing; raises `CannotWrite`."""
    with writing(folder, advice):
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".check-", dir=folder) as tried:
            Path(tried, "file").write_bytes(bytes(4096))
            try:
                with FileLock(Path(tried, "lock"), timeout=0):
                    pass
            except (NotImplementedError, Timeout):
                raise CannotWrite(folder, errno.ENOLCK, "its disk does not support file locks", advice) from None


def write_figure(figure: Any, path: Path, **options: Any) -> None:
    """Draw in memory, then write: on a full disk matplotlib's own error says nothing useful."""
    drawn = io.BytesIO()
    figure.savefig(drawn, format=path.suffix.removeprefix(".") or None, **options)
    with writing(path.parent):
        path.write_bytes(drawn.getvalue())


def _is_elsewhere(error: OSError, folder: Path) -> bool:
    """Whether the error names a path that is neither inside the folder nor one of its parents."""
    if not isinstance(error.filename, str | os.PathLike):
        return False
    named, here = Path(error.filename).absolute(), folder.absolute()
    return not (named.is_relative_to(here) or here.is_relative_to(named))
