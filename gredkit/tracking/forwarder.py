"""Send the records of the trials to MLflow in a thread, so that training never waits for MLflow."""

import threading
import time
from collections.abc import Callable

from gredkit.errors import cause
from gredkit.system.sealed import Damaged
from gredkit.system.writing import CannotWrite
from gredkit.tracking.sending import send_anew
from gredkit.tracking.store import FullStore, StoreError
from gredkit.tracking.tracker import Tracker
from gredkit.trials.folder import TrialFolder

EVERY = 1.0  # seconds
FULL = 3.0  # seconds to wait for space on a full disk


class Forwarder:
    """A thread that reads the folders of trials and sends what is new to the tracker.

    While MLflow does not answer, the folders keep the records; they are sent as soon as MLflow answers again, or by
    the next invocation.
    """

    def __init__(self, tracker: Tracker, say: Callable[[str], None]):
        self._tracker, self._say = tracker, say
        self._folders: dict[str, TrialFolder] = {}
        self._ended: set[str] = set()
        self._refused: set[str] = set()
        self._lock, self._closing = threading.Lock(), threading.Event()
        self._silent_since: float | None = None
        self._is_full = False
        self._thread = threading.Thread(target=self._run, name="mlflow", daemon=True)
        self._thread.start()

    def watch(self, folder: TrialFolder) -> None:
        """From now on, send what a trial writes."""
        with self._lock:
            self._folders[folder.path.name] = folder
            self._ended.discard(folder.path.name)

    def ended(self, folder: TrialFolder) -> None:
        """The trial writes no more; its folder is removed once MLflow has all of it."""
        with self._lock:
            self._ended.add(folder.path.name)

    def forget(self, folder: TrialFolder) -> None:
        """Stop watching a trial that belongs to another invocation."""
        with self._lock:
            self._folders.pop(folder.path.name, None)

    def flush(self, patience: float) -> int:
        """Wait until ended trials are sent, at most `patience` seconds; returns how many are not fully sent."""
        began = time.monotonic()
        while True:
            with self._lock:
                left = len(self._ended | self._refused)
            waited = time.monotonic() - began
            if left == len(self._refused) or waited > (min(patience, FULL) if self._is_full else patience):
                return left
            time.sleep(0.05)

    def close(self, patience: float) -> int:
        """`flush`, then stop the thread."""
        left = self.flush(patience)
        self._closing.set()
        self._thread.join(patience)
        return left

    def _run(self) -> None:
        while not self._closing.is_set():
            self._pass()
            self._closing.wait(EVERY)

    def _pass(self) -> None:
        """Send everything that is new."""
        with self._lock:
            folders, ended = dict(self._folders), set(self._ended)
        try:
            self._tracker.beat()
            for name, folder in folders.items():
                self._send(folder, name in ended)
        except (StoreError, CannotWrite, OSError) as error:
            self._is_full = isinstance(error, FullStore | CannotWrite)
            if self._silent_since is None:
                self._silent_since = time.monotonic()
                said = f"{error}" if self._is_full else f"MLflow does not answer ({cause(error)})"
                self._say(f"{said}; training continues, and the results are sent to MLflow later")
            return
        self._is_full = False
        if self._silent_since is not None:
            self._say(f"MLflow answers again after {time.monotonic() - self._silent_since:.0f} s")
            self._silent_since = None

    def _send(self, folder: TrialFolder, has_ended: bool) -> None:
        """Send one trial; if MLflow refuses it, the others are still sent."""
        try:
            done = send_anew(self._tracker, folder)
        except (StoreError, Damaged) as error:
            if isinstance(error, StoreError) and not error.refused:
                raise
            with self._lock:
                self._refused.add(folder.path.name)
            self._say(f"trial {folder.path.name}: {error}")
            done = False
        if has_ended:
            with self._lock:
                self._folders.pop(folder.path.name, None)
                self._ended.discard(folder.path.name)
            if done:
                folder.remove()
