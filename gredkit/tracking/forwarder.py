"""Send the records of the trials to MLflow in a thread, so that training never waits for MLflow."""

import threading
import time
from collections.abc import Callable
from itertools import islice

from gredkit.errors import cause
from gredkit.system.sealed import Damaged
from gredkit.system.writing import CannotWrite
from gredkit.tracking.sending import send_anew
from gredkit.tracking.store import FullStore, StoreError
from gredkit.tracking.tracker import Tracker
from gredkit.trials.folder import TrialFolder

EVERY = 1.0  # seconds
FEW = 25  # running trials that are looked at in this time
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

    @property
    def refused(self) -> frozenset[str]:
        """The ids of the trials that MLflow does not accept."""
        with self._lock:
            return frozenset(self._refused)

    def flush(self, patience: float) -> int:
        """Wait until ended trials are sent, but only so many seconds for the next one; returns how many still wait.

        Those that MLflow has refused do not wait: the next invocation tries again.
        """
        since, before = time.monotonic(), -1
        while True:
            with self._lock:
                left = len(self._ended)
            if left != before:  # a slow store may need long for many trials
                since, before = time.monotonic(), left
            waited = time.monotonic() - since
            if not left or waited >= (min(patience, FULL) if self._is_full else patience):
                return left
            time.sleep(0.05)

    def close(self, patience: float) -> int:
        """`flush`, then stop the thread; returns how many trials are not completely in MLflow."""
        self.flush(patience)
        self._closing.set()
        self._thread.join(patience)
        with self._lock:
            return len(self._ended | self._refused)

    def _run(self) -> None:
        while not self._closing.is_set():
            self._pass()
            self._closing.wait(EVERY)

    def _pass(self) -> None:
        """Send what is new of the trials that have ended, and of a few of the others, in turn."""
        with self._lock:
            ended = set(self._ended)
            others = (name for name in self._folders if name not in ended and name not in self._refused)
            due = ended | set(islice(others, FEW))
            folders = [folder for name, folder in self._folders.items() if name in due]
        try:
            for folder in folders:
                self._tracker.beat()  # a slow store may need minutes for all of them
                self._send(folder, folder.path.name in ended)
            self._tracker.beat()
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
        """Send one trial; if MLflow refuses it, the others are still sent, and it is tried once more at its end."""
        name, done = folder.path.name, False
        with self._lock:
            if name not in self._folders:
                return  # forgotten in the meantime
            self._folders[name] = self._folders.pop(name)  # if it cannot be sent now, the others come first
        try:
            done = send_anew(self._tracker, folder)
            with self._lock:
                self._refused.discard(name)
        except (StoreError, Damaged) as error:
            if isinstance(error, StoreError) and not error.refused:
                raise
            with self._lock:
                self._refused.add(name)
            self._say(f"trial {name}: {error}")
        if has_ended:
            with self._lock:
                self._folders.pop(name, None)
                self._ended.discard(name)
            if done:
                folder.remove()
