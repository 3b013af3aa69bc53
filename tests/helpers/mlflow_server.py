"""A real MLflow server on this machine, which can be stopped and started again."""

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

from helpers.studies import empty_store

QUIET = {
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "DO_NOT_TRACK": "true",
    "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false",  # eight processes that no run needs
}


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


class MlflowServer:
    """Keeps its runs in `server.db` of a folder, and its artifacts beside it."""

    def __init__(self, folder: Path):
        self.folder, self.port = folder, free_port()
        self.uri = f"http://127.0.0.1:{self.port}"
        (folder / "server.db").write_bytes(empty_store())
        self.start()

    def start(self) -> None:
        """And wait until it answers."""
        command = [sys.executable, "-m", "mlflow", "server", "--host", "127.0.0.1", "--port", str(self.port),
                   "--backend-store-uri", f"sqlite:///{self.folder / 'server.db'}", "--workers", "1",
                   "--artifacts-destination", str(self.folder / "artifacts")]  # fmt: skip
        self.log = (self.folder / "server.log").open("a")
        self.process = subprocess.Popen(
            command, env={**os.environ, **QUIET}, stdout=self.log, stderr=self.log, start_new_session=True
        )
        while True:
            try:
                urllib.request.urlopen(f"{self.uri}/health", timeout=1).read()
                return
            except OSError:
                assert self.process.poll() is None, (self.folder / "server.log").read_text()
                time.sleep(0.2)

    def stop(self) -> None:
        """At once, as `kill -9` does, with all its processes."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self.log.close()
