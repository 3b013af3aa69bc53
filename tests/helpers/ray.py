"""A Ray of two nodes on this machine, on loopback; each has one CPU."""

import os
import secrets
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import psutil

from helpers.mlflow_server import free_port

RAY = Path(sys.executable).with_name("ray")
OPTIONS = (
    *("--block", "--num-cpus=1", "--object-store-memory=80000000", "--node-ip-address=127.0.0.1"),
    *("--min-worker-port=0", "--max-worker-port=0", "--dashboard-agent-listen-port=0", "--include-log-monitor=false"),
    *("--disable-usage-stats", "--no-monitor"),
)
HEAD = ("--head", "--include-dashboard=false")
SECONDS = 120.0


class Cluster:
    """Starts Ray's head and one other node, with a token; `environment` lets programs in."""

    def __init__(self) -> None:
        self._folder = tempfile.mkdtemp(prefix="gredkit-ray-")  # short, as paths of sockets must be
        port, client = free_port(), free_port()
        self.address, self.client_address = f"127.0.0.1:{port}", f"ray://127.0.0.1:{client}"
        self.environment = {
            "RAY_AUTH_MODE": "token",
            "RAY_AUTH_TOKEN": secrets.token_hex(16),
            "RAY_worker_niceness": "0",
        }
        self._nodes: list[subprocess.Popen[bytes]] = []
        self._start(*HEAD, f"--port={port}", f"--ray-client-server-port={client}", f"--temp-dir={self._folder}")
        self.start_node()

    def start_node(self) -> None:
        """Start the second node."""
        self._start(f"--address={self.address}")

    def kill_node(self) -> None:
        """The second node with all its processes, as when a machine loses its power."""
        _kill(self._nodes.pop())

    def workers(self) -> list[psutil.Process]:
        """The processes in which tasks run."""
        found = [one for node in self._nodes for one in psutil.Process(node.pid).children(recursive=True)]
        return [one for one in found if one.is_running() and "ray::" in " ".join(_command_of(one))]

    def stop(self) -> None:
        while self._nodes:
            _kill(self._nodes.pop())
        shutil.rmtree(self._folder, ignore_errors=True)

    def _start(self, *options: str) -> None:
        log = Path(self._folder, f"node{len(self._nodes)}.out")
        with log.open("wb") as out:
            self._nodes.append(
                subprocess.Popen(
                    [RAY, "start", *OPTIONS, *options],
                    env={**os.environ, **self.environment},
                    cwd=self._folder,  # a folder of its own: a trial must go to that of its command
                    stdout=out,
                    stderr=out,
                    start_new_session=True,
                )
            )
        wait_until(lambda: b"Ray runtime started" in log.read_bytes(), lambda: log.read_text(errors="replace"))


def wait_until(holds: Callable[[], bool], otherwise: Callable[[], str]) -> None:
    until = time.monotonic() + SECONDS
    while not holds():
        assert time.monotonic() < until, otherwise()
        time.sleep(0.1)


def _kill(node: subprocess.Popen[bytes]) -> None:
    for one in [*psutil.Process(node.pid).children(recursive=True), psutil.Process(node.pid)]:
        try:
            one.kill()
        except psutil.NoSuchProcess:  # it went with its parent
            continue
    node.wait()


def _command_of(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.Error:
        return []
