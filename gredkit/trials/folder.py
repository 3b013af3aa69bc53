"""The folder of a trial on disk: enough to continue after a crash and to inform MLflow later."""

import json
import os
import shutil
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

from gredkit.system import sealed
from gredkit.system.sealed import Damaged
from gredkit.system.writing import writing
from gredkit.trials.state import TrialState
from gredkit.trials.trial import Trial

Event = dict[str, Any]  # one line of events.jsonl
CURVE = ("train_loss", "validation")  # the values of an epoch's event that make the learning curve
KEYS = {  # the required values of each kind of event
    "started": {"device", "described"},
    "epoch": {"epoch", *CURVE},
    "result": {"validation", "test"},
    "kernels": {"used"},
    "ended": {"state", "message"},
}
REMOVED = ".removed"


class TrialFolder:
    """The folder of one trial.

    trial.json: the trial
    events.jsonl: what happened, one line per event
    checkpoint.safetensors: the state of training, to continue from
    artifacts/: the files that are tracked
    sent.json: the MLflow run, and how many bytes of events.jsonl it has
    log.txt: what the process printed
    Damaged content is kept as FILE.damaged.
    """

    def __init__(self, path: Path):
        self.path = path

    @property
    def checkpoint(self) -> Path:
        return self.path / "checkpoint.safetensors"

    @property
    def artifacts(self) -> Path:
        return self.path / "artifacts"

    @property
    def log(self) -> Path:
        return self.path / "log.txt"

    @property
    def lock(self) -> Path:
        """It is outside, because the folder is removed at the end."""
        return self.path.with_name(f"{self.path.name}.lock")

    @property
    def _events(self) -> Path:
        return self.path / "events.jsonl"

    @property
    def _trial(self) -> Path:
        return self.path / "trial.json"

    @property
    def _sent(self) -> Path:
        return self.path / "sent.json"

    def create(self, trial: Trial) -> None:
        """Create the folder, or reuse the one that an earlier invocation left."""
        with writing(self.path):
            self.artifacts.mkdir(parents=True, exist_ok=True)
        sealed.write(self._trial, trial.to_dict())

    @property
    def has_trial(self) -> bool:
        return self._trial.is_file()

    def trial(self) -> Trial:
        try:
            return Trial.from_dict(sealed.unseal(self._trial.read_bytes()))
        except (Damaged, KeyError, TypeError) as error:
            raise Damaged(f"{self._trial} is damaged: run the same command again, which writes a new one") from error

    def append(self, event: str, **values: Any) -> None:
        """Add an event, with its time in milliseconds."""
        line = sealed.seal({"event": event, "time": time.time_ns() // 1_000_000, **values})
        with writing(self.path), self._events.open("ab+") as file:
            _drop_half_a_line(file)
            file.write(f"{line}\n".encode())
            file.flush()
            os.fsync(file.fileno())  # must be on disk before the checkpoint of its epoch

    def events(self, start: int = 0) -> tuple[list[Event], int]:
        """The undamaged events from position `start` of the file on, and the position where they end."""
        whole = _whole_lines(_bytes_of(self._events, start))
        read = (_event(line) for line in whole.splitlines())
        return [event for event in read if event is not None], start + len(whole)

    def epochs(self) -> set[int]:
        """The epochs that were recorded."""
        return {event["epoch"] for event in self.events()[0] if event["event"] == "epoch"}

    def has_result(self) -> bool:
        """Whether training has finished and everything that is tracked was recorded."""
        return {"started", "result"} <= {event["event"] for event in self.events()[0]}

    def is_open(self) -> bool:
        """Whether the trial was started and its end was not recorded."""
        told = [event["event"] for event in self.events()[0] if event["event"] in ("started", "ended")]
        return told[-1:] == ["started"]

    def is_stopped(self) -> bool:
        """Whether the last thing recorded is that it was interrupted."""
        return [event.get("state") for event in self.events()[0]][-1:] == [TrialState.INTERRUPTED.value]

    def sent(self) -> dict[str, Any]:
        """`run`: the MLflow run; `place`: the position up to which it has the events. Empty if damaged."""
        try:
            return sealed.unseal(self._sent.read_bytes())
        except (FileNotFoundError, Damaged):
            return {}

    def mark_sent(self, **values: Any) -> None:
        sealed.write(self._sent, {**self.sent(), **values})

    def forget_run(self) -> None:
        """Forget the MLflow run, so that everything is sent again."""
        sealed.write(self._sent, {})

    def was_sent(self) -> bool:
        """Whether MLflow may know this trial: something was written about it, although it may be damaged."""
        return self._sent.exists() or _beside(self._sent).exists()

    def mend(self) -> list[str]:
        """Move damaged content aside while nobody writes here; returns the names of the files."""
        with writing(self.path):
            return self._mended()

    def _mended(self) -> list[str]:
        mended = []
        for path, read in ((self._trial, self.trial), (self._sent, lambda: sealed.unseal(self._sent.read_bytes()))):
            try:
                read()
            except FileNotFoundError:
                continue
            except Damaged:
                os.replace(path, _beside(path))
                mended.append(path.name)
        content = _bytes_of(self._events)
        whole = _whole_lines(content)
        damaged = [line for line in whole.splitlines(keepends=True) if _event(line) is None]
        if damaged:
            with _beside(self._events).open("ab") as file:
                file.writelines(damaged)
            unfinished = self._events.with_name(f"{self._events.name}.unfinished")
            unfinished.write_bytes(b"".join(line for line in whole.splitlines(keepends=True) if _event(line)))
            os.replace(unfinished, self._events)
            mended.append(self._events.name)
        place = self.sent().get("place", 0)
        if place and (damaged or content[place - 1 : place] != b"\n"):
            self.mark_sent(place=0)  # the position belonged to the old file
        return mended

    def remove(self) -> None:
        """Remove the folder in one step, so that a partly removed folder never looks like a trial."""
        removed = self.path.with_name(f"{self.path.name}{REMOVED}")
        shutil.rmtree(removed, ignore_errors=True)
        with suppress(OSError):
            os.replace(self.path, removed)
        shutil.rmtree(removed, ignore_errors=True)


def trial_folders(work: Path, study: str) -> list[TrialFolder]:
    """The trial folders that earlier invocations of a study left."""
    found = [path for path in sorted((work / study).glob("*")) if path.is_dir()]
    for path in found:
        if path.name.endswith(REMOVED):  # left by a crash during removal
            shutil.rmtree(path, ignore_errors=True)
    return [TrialFolder(path) for path in found if not path.name.endswith(REMOVED)]


def write_json(path: Path, values: Mapping[str, Any]) -> None:
    """Write JSON in one step, so that a reader sees either the old file or the new one."""
    unfinished = path.with_name(f"{path.name}.unfinished")
    with writing(path.parent):
        unfinished.write_text(json.dumps(values, indent=1))
        os.replace(unfinished, path)


def _event(line: bytes) -> Event | None:
    """The event in a line; None if it is damaged or from a version with other events."""
    try:
        event = sealed.unseal(line)
    except Damaged:
        return None
    needed = KEYS.get(str(event.get("event")))
    return event if needed is not None and {"time", *needed} <= event.keys() else None


def _bytes_of(path: Path, start: int = 0) -> bytes:
    try:
        with path.open("rb") as file:
            file.seek(start)
            return file.read()
    except FileNotFoundError:
        return b""


def _whole_lines(content: bytes) -> bytes:
    """The content without an incomplete last line."""
    return content[: content.rfind(b"\n") + 1]


def _beside(path: Path) -> Path:
    """Where the damaged part of a file is kept."""
    return path.with_name(f"{path.name}.damaged")


def _drop_half_a_line(file: BinaryIO) -> None:
    """Remove an incomplete last line, left by a crash or a full disk, from a file opened for appending."""
    end = file.seek(0, os.SEEK_END)
    if end:
        file.seek(end - 1)
        if file.read(1) != b"\n":
            file.seek(0)
            file.truncate(file.read().rfind(b"\n") + 1)
