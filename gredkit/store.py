"""Where MLflow keeps the runs."""

import logging
import os
import re
import shlex
from pathlib import Path
from typing import Any

from gredkit.addresses import check_address, check_answers
from gredkit.errors import UserError, cause
from gredkit.private import shown
from gredkit.sqlite_store import SQLITE, database, make_whole
from gredkit.writing import CannotWrite, refused_by_disk

ADVICE = "say where the runs are, with --tracking-uri or $MLFLOW_TRACKING_URI"
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
    check_address(uri)
    return f"{SQLITE}{Path(uri.removeprefix(SQLITE)).absolute()}" if uri.startswith(SQLITE) else uri


def existing_store(uri: str) -> str:
    """The same address, once it is clear that MLflow would not make an empty store there."""
    if (file := database(uri)) and not file.is_file():
        raise UserError(f"there is no database {file}: {ADVICE}")
    return uri


def open_command(uri: str) -> str:
    """The command that shows the runs, or the address where they are."""
    return shown(uri) if uri.startswith("http") else f"mlflow ui --backend-store-uri {shlex.quote(shown(uri))}"


class StoreError(UserError):
    """MLflow could not be reached, or refused what it was told; `refused` says which."""

    def __init__(self, sentence: str, refused: bool):
        super().__init__(sentence)
        self.refused = refused


class FullStore(StoreError):
    """The disk of the store takes nothing more."""

    exit_code = 1


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
                raise store_error(error, self._uri) from error

        return call


def store_error(error: Exception, uri: str) -> StoreError:
    """What went wrong with a store, in a sentence."""
    if (number := refused_by_disk(error)) is not None:
        file = database(uri)
        return FullStore(str(CannotWrite(file.parent if file else shown(uri), number)), refused=False)
    refused = getattr(error, "error_code", None) in REFUSED
    said = "refuses" if refused else "cannot be reached at"
    return StoreError(f"MLflow {said} {shown(uri)}: {shown(cause(error), uri)}", refused)


def connect(uri: str) -> Client:
    """An MLflow client, of a store that has its tables."""
    for name, value in QUIET.items():
        os.environ.setdefault(name, value)
    check_answers(uri)
    from mlflow import MlflowClient

    logging.getLogger("mlflow").setLevel(logging.CRITICAL)  # it tells of every table, and of what it also raises
    logging.getLogger("urllib3").setLevel(logging.ERROR)  # and it of every attempt

    def ask(uri: str) -> MlflowClient:
        client = MlflowClient(tracking_uri=uri)
        client.search_experiments(max_results=1)
        return client

    try:
        if file := database(uri):
            make_whole(file, ask)
        return Client(ask(uri), uri)
    except UserError:
        raise
    except Exception as error:
        raise store_error(error, uri) from None
