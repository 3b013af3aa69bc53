"""The Ray that trains the trials: one that runs already, or one of our own on this machine; and what its nodes have."""

import os
import re
import signal
import socket
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import IO, Any

from gredkit.ablation.launchers.forking.server import deaf
from gredkit.errors import UserError, cause

OBJECTS = 100_000_000  # bytes of the object store of our own Ray: trials put nothing into it
ANSWER = 10.0  # seconds in which a Ray must accept a connection
EVERY = 5.0  # seconds between two questions about the nodes
ADDRESS = re.compile(r"(ray://)?\[?([^/]*?)\]?:(\d+)")
FORMS = "auto, HOST:PORT or ray://HOST:PORT"
TOKEN = "it wants its token: set RAY_AUTH_MODE=token, and copy ~/.ray/auth_token from one of its machines"
QUIET = {"include_dashboard": False, "log_to_driver": False, "logging_level": "CRITICAL"}


class Nodes:
    """The nodes of a Ray that this process is connected to."""

    def __init__(self) -> None:
        self.ray = _ray()
        self._known: list[Mapping[str, float]] = []
        self._home, self._is_lost = "", False  # the node that this process belongs to
        self._asked = -EVERY

    def start(self, cpus: int) -> None:
        """Start a Ray on this machine unless it runs; it ends with this process, and its tasks share so many CPUs."""
        os.environ.setdefault("RAY_worker_niceness", "0")  # by default its tasks give way to all other programs
        self._init({"address": "local", "num_cpus": cpus, "object_store_memory": OBJECTS}, "Ray did not start here")

    def connect(self, address: str) -> None:
        """Connect to a Ray that runs."""
        wanted = os.environ.get("RAY_ADDRESS") or address if address == "auto" else address
        if wanted != "auto":
            _check_answers(wanted)
        self._init({"address": address}, f"no connection to Ray at {address}")

    def room(self, wanted: Mapping[str, float]) -> int:
        """How many trials that want these resources fit on all nodes together, if nobody else used them."""
        if time.monotonic() - self._asked >= EVERY:
            with suppress(ConnectionError, self.ray.exceptions.RayError):  # what was known still holds
                nodes = self.ray.nodes()
                self._known = [node["Resources"] for node in nodes if node["Alive"]]
                self._home = self._home or self.ray.get_runtime_context().get_node_id()
                self._is_lost = any(node["NodeID"] == self._home and not node["Alive"] for node in nodes)
            self._asked = time.monotonic()
        asked = {name: amount for name, amount in wanted.items() if amount}
        return sum(int(min(has.get(name, 0) / amount for name, amount in asked.items())) for has in self._known)

    def lack(self, wanted: Mapping[str, float]) -> str:
        """Why no trial that wants these resources can be trained; empty if one can."""
        room = self.room(wanted)
        if self._is_lost:  # tasks can neither be submitted nor cancelled any more
            return "the Ray that this command was connected to has ended"
        return "" if room else f"no node of Ray has {_said(wanted)} for a trial: correct launchers.ray.…"

    def _init(self, options: Mapping[str, Any], otherwise: str) -> None:
        if self.ray.is_initialized():
            return
        before = signal.getsignal(signal.SIGTERM)
        # Ctrl-C and a closed terminal are for this process, which tells the trials.
        with tempfile.TemporaryFile() as printed, deaf(), _to(printed):
            try:
                self.ray.init(**QUIET, **options)
            except ImportError as error:  # what ray:// needs is an extra of Ray
                raise _not_installed() from error
            except Exception as error:
                printed.seek(0)
                wants_token = b"AuthToken" in printed.read() or "client connection timeout" in str(error)
                why = TOKEN if wants_token else cause(error)
                raise UserError(f"{otherwise}: {why}") from error
            finally:
                signal.signal(signal.SIGTERM, before)  # Ray has put its own there


@contextmanager
def _to(file: IO[bytes]) -> Iterator[None]:
    """Write to a file what Ray's C++ code would write to stderr while it connects: a line for each attempt."""
    sys.stderr.flush()
    before = os.dup(2)
    os.dup2(file.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(before, 2)
        os.close(before)


def _check_answers(address: str) -> None:
    """Raise unless somebody listens: Ray itself would wait for minutes, or end this process."""
    found = ADDRESS.fullmatch(address)
    if found is None:
        raise UserError(f"{address!r} is no address of Ray: write {FORMS}")
    try:
        socket.create_connection((found[2], int(found[3])), timeout=ANSWER).close()
    except (OSError, OverflowError) as error:
        raise UserError(f"no Ray answers at {address}: {cause(error)}") from error


def _said(wanted: Mapping[str, float]) -> str:
    """What a trial asks for, in words."""
    said = [f"{wanted['CPU']:g} CPU{'s' if wanted['CPU'] > 1 else ''}"]
    said += [f"{wanted['GPU']:g} GPU{'s' if wanted['GPU'] > 1 else ''}"] if wanted["GPU"] else []
    said += [f"{wanted['memory'] / 2**30:g} GB of memory"] if wanted["memory"] else []
    return " and ".join(said)


def _ray() -> Any:
    try:
        import ray
        import ray._private.worker as worker
    except ImportError:
        raise _not_installed() from None
    worker.print_to_stdstream = lambda *_, **__: None  # lines of raylets, which `log_to_driver` leaves in the terminal
    return ray


def _not_installed() -> UserError:
    return UserError("Ray is not installed: pip install 'gredkit[ray]'")
