"""The shared MLflow server of `deploy/` without containers: PostgreSQL, passwords, TLS."""

import os
import re
import shutil
import ssl
import subprocess
import time
import urllib.request
from functools import cache
from pathlib import Path
from typing import Any

import yaml  # type: ignore[import-untyped]

from helpers.commands import ROOT, Command
from helpers.mlflow_server import free_port
from helpers.postgres import Postgres

DEPLOY = ROOT / "deploy"
SECRETS = {
    "POSTGRES_PASSWORD": "the password of the database",
    "ADMIN_PASSWORD": "the password of the admin",
    "SECRET_KEY": "signs forms",
    "SERVER_NAME": "localhost",
}
CERTIFICATE = (  # as docs/scale_out.md makes one for a trial of the server
    "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 365 "
    "-keyout tls/server.key -out tls/server.crt -subj /CN=localhost -addext subjectAltName=DNS:localhost"
)


@cache
def compose() -> dict[str, Any]:
    """The content of deploy/compose.yaml."""
    return yaml.safe_load((DEPLOY / "compose.yaml").read_text())


class SharedServer:
    """Runs the command of deploy/compose.yaml with its environment; only addresses and secrets are the test's own."""

    def __init__(self, folder: Path):
        self.folder, port = folder, free_port()
        self.database = Postgres("mlflow", SECRETS["POSTGRES_PASSWORD"])
        (folder / "tls").mkdir(parents=True)
        subprocess.run(CERTIFICATE.split(), cwd=folder, check=True, capture_output=True)
        shutil.copy(DEPLOY / "basic_auth.ini", folder)
        service = compose()["services"]["mlflow"]
        _, *self._command = service["command"]
        given = {name: _filled(str(value)) for name, value in service["environment"].items()}
        here = {"MLFLOW_HOST": "127.0.0.1", "MLFLOW_PORT": str(port), "MLFLOW_WORKERS": "1"}
        self._environment = {**os.environ, **given, **here, **self.database.environment}
        self.uri = f"https://localhost:{port}"
        self.client = {  # what a user sets
            "MLFLOW_TRACKING_URI": self.uri,
            "MLFLOW_TRACKING_USERNAME": "admin",
            "MLFLOW_TRACKING_PASSWORD": SECRETS["ADMIN_PASSWORD"],
            "MLFLOW_TRACKING_SERVER_CERT_PATH": str(folder / "tls/server.crt"),
        }
        self._process = Command(["-m", "mlflow", *self._command], folder, self._environment)
        try:
            self._wait()
        except BaseException:
            self.stop()
            raise

    def requests(self) -> list[str]:
        """The method and the path of each request to MLflow that it has answered so far."""
        return re.findall(r'"([A-Z]+ /api/\S+) HTTP', self.log())

    def log(self) -> str:
        return self._process.printed("stdout") + self._process.printed("stderr")

    def stop(self) -> None:
        self._process.kill()
        self.database.remove()

    def _wait(self) -> None:
        trusted = ssl.create_default_context(cafile=self.client["MLFLOW_TRACKING_SERVER_CERT_PATH"])
        while True:
            try:
                urllib.request.urlopen(f"{self.uri}/health", timeout=1, context=trusted).read()
                return
            except OSError:
                assert self._process.returncode is None, self.log()
                time.sleep(0.1)


def _filled(value: str) -> str:
    """A value of compose.yaml with the secrets in the place of ${NAME:?…}."""
    return re.sub(r"\$\{(\w+)[^}]*\}", lambda found: SECRETS[found[1]], value)
