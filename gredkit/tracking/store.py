"""The MLflow store: its address, and a client that repeats requests and turns errors into sentences."""

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

ADVICE = "go to the folder of the study, or name the store of its runs with --tracking-uri or $MLFLOW_TRACKING_URI"
REFUSED = (  # MLflow's error codes for which asking again does not help
    "RESOURCE_DOES_NOT_EXIST",
    "RESOURCE_ALREADY_EXISTS",
    "INVALID_PARAMETER_VALUE",
    "BAD_REQUEST",
    "INVALID_STATE",
    "PERMISSION_DENIED",
)
FAILED = (  # and those for which it may help
    "INTERNAL_ERROR",
    "TEMPORARILY_UNAVAILABLE",
    "REQUEST_LIMIT_EXCEEDED",
    "DEADLINE_EXCEEDED",
    "ABORTED",
    "CANCELLED",
)
PROXIED = "mlflow-artifacts:"  # files that the server itself accepts and returns
UNTRUSTED = "CERTIFICATE_VERIFY_FAILED"  # in what Python says of the certificate of a server
REQUEST = "request"  # the tag that identifies a run whose creation was not confirmed
QUIET = {
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "DO_NOT_TRACK": "true",
    "MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR": "false",
    "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true",  # printing it would cost a request
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "0",  # MLflow could create a run twice; `Client` repeats requests instead
    TIMEOUT: str(LONGEST),
}


def tracking_uri(given: str | None = None) -> str:
    """The given address, else `$MLFLOW_TRACKING_URI`, else `mlflow.db` in the working folder; paths are absolute."""
    uri = given or os.environ.get("MLFLOW_TRACKING_URI") or f"{SQLITE}{paths.STORE}"
    if uri.startswith("file:") or not (re.match(r"\w[\w+.-]+://", uri) or uri == "databricks"):
        said = "this address" if "@" in uri else shown(uri)
        raise UserError(
            f"MLflow keeps runs in a database or on a server, not in {said}: use sqlite:///PATH or http://…"
        )
    if re.search(r"\s", uri.partition("?")[2] if uri.startswith(SQLITE) else uri):  # could hide a password
        raise UserError("there is a space in the address of MLflow: write it as %20")
    check_address(uri)
    return f"{SQLITE}{Path(uri.removeprefix(SQLITE)).absolute()}" if uri.startswith(SQLITE) else uri


def existing_store(uri: str) -> str:
    """The same address, after checking that the store exists, so that MLflow does not create an empty one."""
    if (file := database(uri)) and not file.is_file():
        raise UserError(f"there is no database {file}: {ADVICE}")
    return uri


def open_command(uri: str) -> str:
    """The command that shows the runs, or the address of the server."""
    return shown(uri) if uri.startswith("http") else f"mlflow ui --backend-store-uri {shlex.quote(shown(uri))}"


class StoreError(UserError):
    """MLflow could not be reached, or (`refused`) did not accept a request."""

    def __init__(self, sentence: str, refused: bool):
        super().__init__(sentence)
        self.refused = refused


class FullStore(StoreError):
    """The disk of the store is full."""

    exit_code = 1


class Client:
    """MLflow's client; all failures are raised as `StoreError`.

    Requests to a server are repeated if the request or the answer may have been lost. Almost every request may be
    sent twice; those that may not have a method here.
    """

    def __init__(self, client: Any, uri: str):
        self._client, self._uri = client, uri
        self._asking = Asking() if uri.startswith("http") else None
        self._files: dict[str, Any] = {}  # where a server keeps the files of the runs that were created here

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._client, name)
        return lambda *arguments, **named: self._ask(lambda: method(*arguments, **named))

    def create_run(self, experiment: str, start: int | None = None, tags: Any = None, run_name: str = "") -> Any:
        """Create a run; if the answer was lost, find the created run by a unique tag."""
        request, asked = uuid.uuid4().hex, False

        def create() -> Any:
            nonlocal asked
            if asked and (found := self._client.search_runs([experiment], f"tags.{REQUEST} = '{request}'")):
                return found[0]
            asked = True
            return self._client.create_run(experiment, start, {**(tags or {}), REQUEST: request}, run_name or None)

        run = self._ask(create)
        if run.info.artifact_uri.startswith(PROXIED):
            from mlflow.store.artifact.artifact_repository_registry import get_artifact_repository

            self._files[run.info.run_id] = get_artifact_repository(run.info.artifact_uri, tracking_uri=self._uri)
        return run

    def forget(self, run: str) -> None:
        """Forget where the files of a run are, because none is sent for now."""
        self._files.pop(run, None)

    def log_artifact(self, run: str, path: str, folder: str | None = None) -> None:
        """Send a file; MLflow's own method would first ask where the files of the run are."""
        if run in self._files:
            self._ask(lambda: self._files[run].log_artifact(path, folder))
        else:
            self._ask(lambda: self._client.log_artifact(run, path, folder))

    def delete_run(self, run: str) -> None:
        """Delete a run; a repeated request checks first, because MLflow refuses to delete a run twice."""
        asked = False

        def delete() -> None:
            nonlocal asked
            if not (asked and self._client.get_run(run).info.lifecycle_stage == "deleted"):
                asked = True
                self._client.delete_run(run)

        self._ask(delete)

    def download_artifacts(self, run: str, path: str, folder: str) -> str:
        """Download an artifact; a full disk is then this machine's disk."""

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
        except Exception as error:  # from MLflow, the database, the network or the disk
            raise store_error(error, self._uri) from error


def _is_answer(error: Exception) -> bool:
    """Whether the error is a final answer, so that asking again does not help."""
    if isinstance(error, UserError) or refused_by_disk(error) is not None:
        return True
    status = getattr(getattr(error, "response", None), "status_code", None)  # of an artifact
    if status is not None:
        return 400 <= status < 500 and status not in (408, 429)
    return getattr(error, "error_code", "INTERNAL_ERROR") not in FAILED or UNTRUSTED in str(error)


def store_error(error: Exception, uri: str) -> StoreError:
    """The error of a store as one sentence."""
    if (number := refused_by_disk(error)) is not None:
        file = database(uri)
        return FullStore(str(CannotWrite(file.parent if file else shown(uri), number)), refused=False)
    code = getattr(error, "error_code", None)
    if code == "UNAUTHENTICATED":
        names = "MLFLOW_TRACKING_USERNAME and MLFLOW_TRACKING_PASSWORD"
        return StoreError(f"{shown(uri)} does not know this user with this password: set {names}", refused=False)
    if UNTRUSTED in str(error):
        advice = "name the file of one that you trust in MLFLOW_TRACKING_SERVER_CERT_PATH"
        return StoreError(f"the certificate of {shown(uri)} is not trusted here: {advice}", refused=False)
    refused = code in REFUSED
    said = "refuses" if refused else "cannot be reached at"
    return StoreError(f"MLflow {said} {shown(uri)}: {shown(cause(error), uri)}", refused)


def connect(uri: str) -> Client:
    """An MLflow client for a store, whose tables are created if necessary."""
    for name, value in QUIET.items():
        os.environ.setdefault(name, value)
    check_answers(uri)
    from mlflow import MlflowClient

    logging.getLogger("mlflow").setLevel(logging.CRITICAL)  # it logs every table, and errors that it also raises
    logging.getLogger("urllib3").setLevel(logging.ERROR)  # it logs every attempt

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
