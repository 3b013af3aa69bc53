"""SQLite stores of MLflow, whose tables are created all at once or not at all."""

import errno
import os
import sqlite3
import time
import uuid
import warnings
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from urllib.parse import quote, unquote

from filelock import FileLock

from gredkit.system.writing import CannotWrite, refused_by_disk, writing

SQLITE = "sqlite:///"
RESTS = 10.0  # seconds without a change after which an incomplete store counts as abandoned
BOOKKEEPING = {"alembic_version", "workspaces"}  # tables that migrations fill before a store is complete


def database(uri: str) -> Path | None:
    """The file of a SQLite store; None for any other address."""
    return Path(unquote(uri[len(SQLITE) :].partition("?")[0])) if uri.startswith(SQLITE) else None


def make_whole(path: Path, make: Callable[[str], object]) -> None:
    """Make sure that a store has its tables; `make` lets MLflow create them at an address.

    MLflow creates about fifty tables in about as many steps, and cannot use a store that has only some of them. So
    they are created in memory and written to the disk in one step. An incomplete, empty store that another program
    left is replaced.
    """
    if _is_whole(path):
        return
    with writing(path.parent):
        path.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(f"{path}.lock"):
            while not _is_whole(path):
                if _is_being_made(path):
                    time.sleep(0.1)
                else:
                    _make(path, make)


def _make(path: Path, make: Callable[[str], object]) -> None:
    unfinished = path.with_name(f".{path.name}.unfinished")
    memory = f"file:gredkit-{uuid.uuid4().hex}?mode=memory&cache=shared"
    try:
        with closing(sqlite3.connect(memory, uri=True)) as tables:
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", "Selection of the SingletonThreadPool")  # any pool works here
                make(f"{SQLITE}{memory}&uri=true")
            _remove(unfinished)  # left by a process that was killed
            with closing(sqlite3.connect(unfinished)) as file:
                tables.backup(file)
        if not _is_whole(path):  # otherwise another program was faster
            _remove(path)
            os.replace(unfinished, path)
    except sqlite3.Error as error:
        raise CannotWrite(path.parent, refused_by_disk(error) or errno.EIO, str(error)) from error
    finally:
        with suppress(OSError):
            _remove(unfinished)


def _remove(path: Path) -> None:
    """Remove a database and the journal files that SQLite would apply to a new one of the same name."""
    for suffix in ("", "-journal", "-wal", "-shm"):
        path.with_name(f"{path.name}{suffix}").unlink(missing_ok=True)


def _is_whole(path: Path) -> bool:
    """Whether a store is complete: the last thing that MLflow creates in a new store is an experiment.

    A file that is not a store counts as complete, so that it is never replaced and MLflow reports what is wrong.
    """
    if not path.exists() or (path.is_file() and not path.stat().st_size):
        return False
    try:
        with closing(sqlite3.connect(f"file:{quote(str(path))}?mode=rw", uri=True)) as store:
            names = [name for (name,) in store.execute("select name from sqlite_master where type = 'table'")]
            filled = {name for name in names if store.execute(f'select 1 from "{name}" limit 1').fetchone()}
    except sqlite3.DatabaseError:
        return True
    return bool(filled - BOOKKEEPING)


def _is_being_made(path: Path) -> bool:
    """Whether another program, such as `mlflow server`, may be creating the tables right now."""
    try:
        return path.stat().st_size > 0 and 0 <= time.time() - path.stat().st_mtime < RESTS
    except FileNotFoundError:
        return False
