"""Sends to MLflow what the trials write down, beside the training and whether or not MLflow answers."""

import logging
import threading
import time
from collections.abc import Callable

from gredkit.ablation.folder import TrialFolder
from gredkit.ablation.sending import send
from gredkit.ablation.tracking import Tracker
from gredkit.errors import cause

log = logging.getLogger(__name__)
EVERY = 1.0  # seconds


class Forwarder:
    """A thread that reads the folders of trials and tells the tracker.

    While MLflow does not answer, the folders keep what there is to say; it is sent as soon as MLflow answers again,
    or by the next invocation.
    """

    def __init__(self, tracker: Tracker, say: Callable[[str], None]):
        self._tracker, self._say = tracker, say
        self._folders: dict[str, TrialFolder] = {}
        self._ended: set[str] = set()
        self._lock, self._closing = threading.Lock(), threading.Event()
        self._silent_since: float | None = None
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
        """The trial turned out to be another invocation's."""
        with self._lock:
            self._folders.pop(folder.path.name, None)

    def close(self, patience: float) -> int:
        """Send the rest; how many trials MLflow does not know all of after so many seconds."""
        self._closing.set()
        self._thread.join(patience)
        with self._lock:
            return len(self._ended)

    def _run(self) -> None:
        while True:
            closing = self._closing.is_set()
            reached = self._pass()
            with self._lock:
                finished = not self._ended
            if closing and reached and finished:
                return
            time.sleep(EVERY) if closing else self._closing.wait(EVERY)

    def _pass(self) -> bool:
        """Send all that is new; whether MLflow took it."""
        with self._lock:
            folders, ended = dict(self._folders), set(self._ended)
        try:
            self._tracker.beat()
            for name, folder in folders.items():
                done = send(self._tracker, folder)
                if name in ended:
                    with self._lock:
                        self._folders.pop(name, None)
                        self._ended.discard(name)
                    if done:
                        folder.remove()
        except Exception as error:  # whatever the network, the server or its database say
            if self._silent_since is None:
                self._silent_since = time.monotonic()
                self._say(f"MLflow does not answer ({cause(error)}); training goes on, and it is told later")
            return False
        if self._silent_since is not None:
            self._say(f"MLflow answers again after {time.monotonic() - self._silent_since:.0f} s")
            self._silent_since = None
        return True
