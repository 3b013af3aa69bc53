"""Writing to a disk that may be full or closed to us: every place that writes says which folder it means."""

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
DISK = (*FULL, *BROKEN, errno.EROFS)  # never about a single file
SAID_BY_SQLITE = {"database or disk is full": errno.ENOSPC, "disk I/O error": errno.EIO}
AGAIN = "then run the same command again"
LIMIT = "raise the limit of the size of files (ulimit -f)"


class CannotWrite(UserError):
    """A folder in which nothing can be written, by its name; a full disk is no mistake of the user: exit code 1."""

    def __init__(self, folder: str | Path, number: int, said: str = "", advice: str = ""):
        self.exit_code = 2 if number in CLOSED else 1
        if number in FULL:
            sentence = f"the disk of {folder} is full: free some space"
        else:
            advice = LIMIT if number == errno.EFBIG else advice or "mend this"
            sentence = f"nothing can be written to {folder} ({said or os.strerror(number)}): {advice}"
        super().__init__(f"{sentence}, {AGAIN}")


@contextmanager
def writing(folder: Path, advice: str = "") -> Iterator[None]:
    """What the system refuses inside becomes a `CannotWrite` of this folder, unless it is about a file elsewhere."""
    try:
        yield
    except OSError as error:
        if _is_elsewhere(error, folder) or error.errno not in (*FULL, *CLOSED, *BROKEN):
            raise
        raise CannotWrite(folder, error.errno, advice=advice) from error


def refused_by_disk(error: BaseException) -> int | None:
    """The number of the system's error behind what another library raised, if it is one about writing."""
    seen: BaseException | None = error
    while seen is not None:
        if isinstance(seen, OSError) and seen.errno in (*DISK, errno.EACCES):
            return seen.errno
        seen = seen.__cause__ or seen.__context__
    return next((number for said, number in SAID_BY_SQLITE.items() if said in str(error)), None)


def check_writable(folder: Path, advice: str = "") -> None:
    """Whether files and locks can be made in a folder, tried out; the folder is made if it is missing."""
    with writing(folder, advice):
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".check-", dir=folder) as tried:
            Path(tried, "file").write_bytes(bytes(4096))
            try:
                with FileLock(Path(tried, "lock"), timeout=0):
                    pass
            except (NotImplementedError, Timeout):
                raise CannotWrite(folder, errno.ENOLCK, "its disk has no locks", advice) from None


def write_figure(figure: Any, path: Path, **options: Any) -> None:
    """Draw in memory, then write: matplotlib stumbles over a full disk with an error that says nothing."""
    drawn = io.BytesIO()
    figure.savefig(drawn, format=path.suffix.removeprefix(".") or None, **options)
    with writing(path.parent):
        path.write_bytes(drawn.getvalue())


def _is_elsewhere(error: OSError, folder: Path) -> bool:
    """Whether the error names a file that is not in the folder, nor a folder above it."""
    if not isinstance(error.filename, str | os.PathLike):
        return False
    named, here = Path(error.filename).absolute(), folder.absolute()
    return not (named.is_relative_to(here) or here.is_relative_to(named))
