"""Where MLflow keeps the runs."""

import errno
import logging
import os
import re
import shlex
from contextlib import nullcontext
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from filelock import FileLock

from gredkit.errors import UserError, cause
from gredkit.private import shown

SQLITE = "sqlite:///"
ADVICE = "say where the runs are, with --tracking-uri or $MLFLOW_TRACKING_URI"
FULL = (errno.ENOSPC, errno.EDQUOT)
REFUSED = (  # what MLflow says when asking again will not help
    "RESOURCE_DOES_NOT_EXIST",
    "RESOURCE_ALREADY_EXISTS",
    "INVALID_PARAMETER_VALUE",
    "BAD_REQUEST",
    "INVALID_STATE",
    "PERMISSION_DENIED",
)
QUIET = {
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "DO_NOT_TRACK": "true",
    "MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR": "false",
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "2",  # our own patience is longer than MLflow's
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "30",
}


def tracking_uri(given: str | None = None) -> str:
    """The address given, `$MLFLOW_TRACKING_URI`, or `mlflow.db` in the working folder; a path becomes absolute."""
    uri = given or os.environ.get("MLFLOW_TRACKING_URI") or f"{SQLITE}mlflow.db"
    if uri.startswith("file:") or not (re.match(r"\w[\w+.-]+://", uri) or uri == "databricks"):
        said = "this address" if "@" in uri else shown(uri)
        raise UserError(
            f"MLflow keeps runs in a database or on a server, not in {said}: use sqlite:///PATH or http://…"
        )
    if re.search(r"\s", uri.partition("?")[2] if uri.startswith(SQLITE) else uri):  # a password could not be told apart
        raise UserError("there is a space in the address of MLflow: write it as %20")
    return f"{SQLITE}{Path(uri.removeprefix(SQLITE)).absolute()}" if uri.startswith(SQLITE) else uri


def existing_store(uri: str) -> str:
    """The same address, once it is clear that MLflow would not make an empty store there."""
    if (file := database(uri)) is not None and not file.is_file():
        raise UserError(f"there is no database {file}: {ADVICE}")
    return uri


def database(uri: str) -> Path | None:
    """The file of a SQLite store."""
    return Path(unquote(uri.removeprefix(SQLITE).partition("?")[0])) if uri.startswith(SQLITE) else None


def open_command(uri: str) -> str:
    """The command that shows the runs, or the address where they are."""
    return shown(uri) if uri.startswith("http") else f"mlflow ui --backend-store-uri {shlex.quote(shown(uri))}"


class StoreError(UserError):
    """MLflow could not be reached, or refused what it was told; `refused` says which."""

    def __init__(self, sentence: str, refused: bool):
        super().__init__(sentence)
        self.refused = refused


class Client:
    """MLflow's client, whose failures are all a `StoreError`."""

    def __init__(self, client: Any, uri: str):
        self._client, self._uri = client, uri

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._client, name)

        def call(*arguments: Any, **named: Any) -> Any:
            try:
                return method(*arguments, **named)
            except Exception as error:  # MLflow's own, or of the database, the network or the disk below it
                if isinstance(error, OSError) and error.errno in FULL:
                    said = f"the disk of {shown(self._uri)} is full: free some space"
                    raise StoreError(said, refused=False) from error
                refused = getattr(error, "error_code", None) in REFUSED
                said = "refuses" if refused else "cannot be reached at"
                reason = shown(cause(error), self._uri)
                raise StoreError(f"MLflow {said} {shown(self._uri)}: {reason}", refused) from error

        return call


def connect(uri: str) -> Client:
    """An MLflow client.

    A new SQLite store is made by one process at a time: several that migrate its tables at once would all crash.
    """
    for name, value in QUIET.items():
        os.environ.setdefault(name, value)
    from mlflow import MlflowClient

    logging.getLogger("mlflow").setLevel(logging.CRITICAL)  # it tells of every table, and of what it also raises
    logging.getLogger("urllib3").setLevel(logging.ERROR)  # and it of every attempt
    file = database(uri)
    try:
        if file:
            file.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(f"{file}.lock") if file else nullcontext():
            client = Client(MlflowClient(tracking_uri=uri), uri)
            client.search_experiments(max_results=1)
    except Exception as error:  # the constructor's own
        if isinstance(error, UserError):
            raise
        raise UserError(f"MLflow cannot be reached at {shown(uri)}: {shown(cause(error), uri)}") from None
    return client
