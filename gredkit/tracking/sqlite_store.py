"""SQLite stores of MLflow, whose tables are made whole or not at all."""

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
RESTS = 10.0  # seconds after which nobody is at work on a store without its tables
BOOKKEEPING = {"alembic_version", "workspaces"}  # what migrations write before a store is whole


def database(uri: str) -> Path | None:
    """The file of a SQLite store; None for any other address."""
    return Path(unquote(uri[len(SQLITE) :].partition("?")[0])) if uri.startswith(SQLITE) else None


def make_whole(path: Path, make: Callable[[str], object]) -> None:
    """See that a store has its tables; `make` has MLflow make them at an address.

    MLflow makes about fifty tables in about as many steps, and can do nothing with a store that has some of them. So
    they are made in memory, and come to the disk in one step. A store that another program left half made, and
    that holds nothing, is replaced.
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
                warnings.filterwarnings("ignore", "Selection of the SingletonThreadPool")  # any pool will do
                make(f"{SQLITE}{memory}&uri=true")
            _remove(unfinished)  # of a process that was killed
            with closing(sqlite3.connect(unfinished)) as file:
                tables.backup(file)
        if not _is_whole(path):  # or another program was faster
            _remove(path)
            os.replace(unfinished, path)
    except sqlite3.Error as error:
        raise CannotWrite(path.parent, refused_by_disk(error) or errno.EIO, str(error)) from error
    finally:
        with suppress(OSError):
            _remove(unfinished)


def _remove(path: Path) -> None:
    """A database, and what SQLite would read into a new one of the same name."""
    for suffix in ("", "-journal", "-wal", "-shm"):
        path.with_name(f"{path.name}{suffix}").unlink(missing_ok=True)


def _is_whole(path: Path) -> bool:
    """Whether there is anything in a store: an experiment is the last thing that MLflow makes in a new one.

    What is no store at all counts as whole: MLflow says what is wrong with it, and nobody replaces it.
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
    """Whether another program, such as `mlflow server`, may just be making the tables."""
    try:
        return path.stat().st_size > 0 and 0 <= time.time() - path.stat().st_mtime < RESTS
    except FileNotFoundError:
        return False
