"""A real MLflow server on this machine, which can be stopped and started again."""

import os
import re
import socket
import time
import urllib.request
from pathlib import Path

from helpers.commands import Command
from helpers.studies import empty_store

QUIET = {
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "DO_NOT_TRACK": "true",
    "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false",  # eight processes that no run needs
}

# What `mlflow server` does after it has read its options, without the two interpreters that it starts.
SERVE = """
import os, sys
from mlflow.server import constants

port, folder = sys.argv[1:]
os.environ[constants.BACKEND_STORE_URI_ENV_VAR] = f"sqlite:///{folder}/server.db"
os.environ[constants.ARTIFACTS_DESTINATION_ENV_VAR] = f"{folder}/artifacts"
os.environ[constants.ARTIFACT_ROOT_ENV_VAR] = "mlflow-artifacts:/"
os.environ[constants.SERVE_ARTIFACTS_ENV_VAR] = "true"

import uvicorn

uvicorn.run("mlflow.server.fastapi_app:app", host="127.0.0.1", port=int(port))
"""


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


class MlflowServer:
    """Keeps its runs in `server.db` of a folder, and its artifacts beside it.

    by_command: whether it is started by the command that a user would type, which takes some seconds longer
    """

    def __init__(self, folder: Path, by_command: bool = False):
        self.folder, self.port, self._by_command = folder, free_port(), by_command
        self.uri = f"http://127.0.0.1:{self.port}"
        (folder / "server.db").write_bytes(empty_store())
        self.start()

    def start(self) -> None:
        """And wait until it answers."""
        command = ["-c", SERVE, str(self.port), str(self.folder)]
        if self._by_command:
            command = ["-m", "mlflow", "server", "--host", "127.0.0.1", "--port", str(self.port),
                       "--backend-store-uri", f"sqlite:///{self.folder / 'server.db'}", "--workers", "1",
                       "--artifacts-destination", str(self.folder / "artifacts")]  # fmt: skip
        self._process = Command(command, self.folder, {**os.environ, **QUIET})
        while True:
            try:
                urllib.request.urlopen(f"{self.uri}/health", timeout=1).read()
                return
            except OSError:
                assert self._process.returncode is None, self._process.printed("stderr")
                time.sleep(0.1)

    def requests(self) -> list[str]:
        """The method and the path of each request to MLflow that it has answered so far."""
        log = self._process.printed("stdout") + self._process.printed("stderr")
        return re.findall(r'"([A-Z]+ /api/\S+) HTTP', log)

    def stop(self) -> None:
        """At once, as `kill -9` does, with all its processes."""
        self._process.kill()
