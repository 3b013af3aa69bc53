"""Where MLflow keeps the runs."""

import logging
import os
import re
import shlex
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

from gredkit import paths
from gredkit.errors import UserError, cause
from gredkit.system.private import shown
from gredkit.system.writing import CannotWrite, refused_by_disk
from gredkit.tracking.addresses import check_address, check_answers
from gredkit.tracking.asking import LONGEST, TIMEOUT, Asking
from gredkit.tracking.sqlite_store import SQLITE, database, make_whole

ADVICE = "say where the runs are, with --tracking-uri or $MLFLOW_TRACKING_URI"
REFUSED = (  # what MLflow says when asking again will not help
    "RESOURCE_DOES_NOT_EXIST",
    "RESOURCE_ALREADY_EXISTS",
    "INVALID_PARAMETER_VALUE",
    "BAD_REQUEST",
    "INVALID_STATE",
    "PERMISSION_DENIED",
)
FAILED = (  # and what it says when asking again may
    "INTERNAL_ERROR",
    "TEMPORARILY_UNAVAILABLE",
    "REQUEST_LIMIT_EXCEEDED",
    "DEADLINE_EXCEEDED",
    "ABORTED",
    "CANCELLED",
)
REQUEST = "request"  # the tag by which a run is found that may have been created
QUIET = {
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "DO_NOT_TRACK": "true",
    "MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR": "false",
    "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true",  # it asks the server for it
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "0",  # MLflow would create a run twice; `Client` asks again
    TIMEOUT: str(LONGEST),
}


def tracking_uri(given: str | None = None) -> str:
    """The address given, `$MLFLOW_TRACKING_URI`, or `mlflow.db` in the working folder; a path becomes absolute."""
    uri = given or os.environ.get("MLFLOW_TRACKING_URI") or f"{SQLITE}{paths.STORE}"
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
    """MLflow's client, whose failures are all a `StoreError`.

    A server is asked again where it may have lost the question or the answer. Nearly all that MLflow is told may be
    told twice; what may not, is a method here.
    """

    def __init__(self, client: Any, uri: str):
        self._client, self._uri = client, uri
        self._asking = Asking() if uri.startswith("http") else None

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._client, name)
        return lambda *arguments, **named: self._ask(lambda: method(*arguments, **named))

    def create_run(self, experiment: str, start: int | None = None, tags: Any = None, run_name: str = "") -> Any:
        """A new run; if the answer was lost, the one that it was about, found by a tag that no other has."""
        request, asked = uuid.uuid4().hex, False

        def create() -> Any:
            nonlocal asked
            if asked and (found := self._client.search_runs([experiment], f"tags.{REQUEST} = '{request}'")):
                return found[0]
            asked = True
            return self._client.create_run(experiment, start, {**(tags or {}), REQUEST: request}, run_name or None)

        return self._ask(create)

    def delete_run(self, run: str) -> None:
        """Gone is gone: MLflow refuses to delete a run twice."""
        asked = False

        def delete() -> None:
            nonlocal asked
            if not (asked and self._client.get_run(run).info.lifecycle_stage == "deleted"):
                asked = True
                self._client.delete_run(run)

        self._ask(delete)

    def log_artifacts(self, run: str, folder: str) -> None:
        """File by file: one that arrived is not sent again because the next one did not."""
        for path in sorted(path for path in Path(folder).rglob("*") if path.is_file()):
            below = path.parent.relative_to(folder).as_posix()
            self.log_artifact(run, str(path), None if below == "." else below)

    def download_artifacts(self, run: str, path: str, folder: str) -> str:
        """The disk that may be full is the one here."""

        def download() -> Any:
            try:
                return self._client.download_artifacts(run, path, folder)
            except Exception as error:
                if (number := refused_by_disk(error)) is not None:
                    raise CannotWrite(folder, number) from error
                raise

        return self._ask(download)

    def _ask(self, question: Callable[[], Any]) -> Any:
        try:
            return self._asking(question, _is_answer) if self._asking else question()
        except UserError:
            raise
        except Exception as error:  # MLflow's own, or of the database, the network or the disk below it
            raise store_error(error, self._uri) from error


def _is_answer(error: Exception) -> bool:
    """Whether a server, or this machine, has said no: asking again will not help."""
    if isinstance(error, UserError) or refused_by_disk(error) is not None:
        return True
    status = getattr(getattr(error, "response", None), "status_code", None)  # of an artifact
    if status is not None:
        return 400 <= status < 500 and status not in (408, 429)
    return getattr(error, "error_code", "INTERNAL_ERROR") not in FAILED


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

    def ask(uri: str) -> Client:
        client = Client(MlflowClient(tracking_uri=uri), uri)
        client.search_experiments(max_results=1)
        return client

    try:
        if file := database(uri):
            make_whole(file, ask)
        return ask(uri)
    except UserError:
        raise
    except Exception as error:
        raise store_error(error, uri) from None
