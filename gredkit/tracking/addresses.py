"""Check an MLflow address before MLflow is imported, without creating anything at that address."""

import socket
import time
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import getproxies

from gredkit.errors import UserError
from gredkit.system.private import shown
from gredkit.tracking.sqlite_store import SQLITE, database

HEADER = b"SQLite format 3\0"
SERVERS = ("http", "https", "databricks")
POSTGRESQL = "psycopg2" if version("sqlalchemy") < "2.1" else "psycopg"
DRIVERS = {"postgresql": POSTGRESQL, "mysql": "MySQLdb", "mssql": "pyodbc"}  # SQLAlchemy's default for each
MODULES = {"mysqldb": "MySQLdb", "mysqlconnector": "mysql"}  # drivers whose module has another name
WAIT = 5.0  # seconds to wait for a connection to a server


def check_address(uri: str) -> None:
    """Raise unless MLflow can use the address (which has a scheme); a SQLite file need not exist yet."""
    scheme, _, rest = uri.partition("://")
    kind, _, driver = scheme.partition("+")
    if uri.startswith(SQLITE):
        _check_file(uri)
    elif kind == "sqlite":
        raise UserError(f"{shown(uri)} has no path: write {SQLITE}mlflow.db for a file here, {SQLITE}/… for another")
    elif kind in DRIVERS:
        module = MODULES.get(driver, driver) or DRIVERS[kind]
        if find_spec(module.partition(".")[0]) is None:
            raise UserError(f"{shown(uri)} needs the Python package {module!r}: install it, or use {SQLITE}mlflow.db")
    elif kind not in SERVERS:
        raise UserError(f"MLflow does not support addresses of the kind {scheme!r}: use {SQLITE}mlflow.db or http://…")
    elif kind != "databricks" and not _place(uri)[0]:
        raise UserError(f"{shown(uri)} names no server: write http://HOST:PORT")
    elif not rest and kind == "databricks":
        raise UserError("databricks:// names no profile: write databricks or databricks://PROFILE")


def check_answers(uri: str) -> None:
    """Raise if nothing accepts connections at the address of a server; not checked behind a proxy."""
    if not uri.startswith(("http://", "https://")) or getproxies():
        return
    for pause in (0.1, 0.3, None):  # a busy server may refuse one connection and accept the next
        try:
            socket.create_connection(_place(uri), timeout=WAIT).close()
            return
        except OSError as error:
            if pause is None or not isinstance(error, ConnectionError):
                raise NoAnswer(
                    f"MLflow does not answer at {shown(uri)} ({(error.strerror or str(error)).lower()}): start the "
                    f"server, or correct the address"
                ) from None
            time.sleep(pause)


class NoAnswer(UserError):
    """A server cannot be reached, which may not be the user's fault."""

    exit_code = 1


def _place(uri: str) -> tuple[str, int]:
    """Host and port of a server."""
    try:
        parts = urlsplit(uri)
        return parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)
    except ValueError as error:
        raise UserError(f"{shown(uri)} is not a valid address ({error}): write http://HOST:PORT") from None


def _check_file(uri: str) -> None:
    written = uri[len(SQLITE) :].partition("?")[0]
    file = database(uri) or Path()
    if not written.strip() or file.name == ":memory:":
        raise UserError(f"{shown(uri)} does not name a file for the runs: write {SQLITE}mlflow.db")
    if file.is_dir() or written.endswith("/"):
        raise UserError(f"{file} is a folder: name a file in it, for example {SQLITE}{file / 'mlflow.db'}")
    for folder in file.absolute().parents:
        if folder.exists() and not folder.is_dir():
            raise UserError(f"{folder} is a file, so it cannot contain {file.name}: correct the address")
    if not file.exists():
        return
    if not file.is_file():
        raise UserError(f"{file} is not a regular file: name a file for the runs")
    try:
        with file.open("rb") as opened:
            begin = opened.read(len(HEADER))
    except OSError as error:
        raise UserError(f"{file} cannot be read: {(error.strerror or str(error)).lower()}") from None
    if begin and begin != HEADER:
        raise UserError(f"{file} is not an SQLite database: name another file, or one that does not exist yet")
