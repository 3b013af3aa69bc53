"""A PostgreSQL server on this machine, in a folder of its own, which can be stopped and started again."""

import os
import shutil
import signal
import subprocess
import tempfile
from functools import cache
from pathlib import Path

from helpers.mlflow_server import free_port

DEBIAN = "/usr/lib/postgresql/*/bin"  # not on the search path
USER = "postgres"  # the system's user, because PostgreSQL refuses to run as root


@cache
def programs() -> Path | None:
    """The folder of the newest installed server, if there is one."""
    folders = [*map(Path, os.environ.get("PATH", "").split(os.pathsep)), *sorted(Path("/").glob(DEBIAN[1:]))]
    found = [folder for folder in folders if (folder / "initdb").exists() and (folder / "postgres").exists()]
    return found[-1] if found else None


def is_installed() -> bool:
    return programs() is not None and (os.geteuid() != 0 or shutil.which("setpriv") is not None)


class Postgres:
    """Has a role and an empty database of the given name; `environment` is how libpq finds them."""

    def __init__(self, name: str, password: str):
        self._home = tempfile.TemporaryDirectory(prefix="gredkit-postgres-")  # pytest's folders are for root alone
        self._folder, self._port = Path(self._home.name), free_port()
        if os.geteuid() == 0:
            shutil.chown(self._folder, USER)
        self.environment = {"PGHOST": "127.0.0.1", "PGPORT": str(self._port), "PGUSER": name, "PGPASSWORD": password}
        secret = self._folder / "password"
        secret.write_text(password)
        secret.chmod(0o644)
        options = ("--auth=scram-sha-256", f"--username={name}", f"--pwfile={secret}", "--no-sync", "--encoding=UTF8")
        self._run("initdb", f"--pgdata={self._folder / 'data'}", *options)
        self.start()
        self._run("createdb", name)

    def start(self) -> None:
        """And wait until it answers."""
        settings = (f"port={self._port}", "listen_addresses=127.0.0.1", "unix_socket_directories=", "fsync=off")
        with (self._folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                self._command("postgres", "-D", str(self._folder / "data"), *(f"-c{one}" for one in settings)),
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        while True:
            try:
                self._run("pg_isready", "--quiet")
                return
            except subprocess.CalledProcessError:
                assert self._process.poll() is None, (self._folder / "log").read_text()

    def stop(self) -> None:
        """At once, without an orderly end of its connections."""
        self._process.send_signal(signal.SIGQUIT)
        self._process.wait()

    def remove(self) -> None:
        self.stop()
        self._home.cleanup()

    def _run(self, program: str, *arguments: str) -> None:
        environment = {**os.environ, **getattr(self, "environment", {})}
        subprocess.run(self._command(program, *arguments), check=True, capture_output=True, env=environment, cwd="/")

    def _command(self, program: str, *arguments: str) -> list[str]:
        folder = programs()
        assert folder is not None
        as_user = ["setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups"] if os.geteuid() == 0 else []
        return [*as_user, str(folder / program), *arguments]
