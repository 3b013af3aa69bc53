"""What a trial leaves on disk while it runs: enough to go on after a crash, and to tell MLflow later."""

import json
import os
import shutil
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO

from gredkit.ablation.trial import Trial
from gredkit.writing import writing

Event = dict[str, Any]


class TrialFolder:
    """The folder of one trial.

    trial.json: the trial. events.jsonl: what happened, one line each. checkpoint.safetensors: to go on from.
    artifacts/: what is tracked as files. sent.json: the MLflow run, and up to where it has the events. log.txt: what
    the process printed.
    """

    def __init__(self, path: Path):
        self.path = path
        self.checkpoint = path / "checkpoint.safetensors"
        self.artifacts = path / "artifacts"
        self.log = path / "log.txt"
        self.lock = path.with_name(f"{path.name}.lock")  # outside: the folder goes when the trial is done with
        self._events, self._trial, self._sent = path / "events.jsonl", path / "trial.json", path / "sent.json"

    def create(self, trial: Trial) -> None:
        """Make the folder, or take the one that an earlier invocation left."""
        with writing(self.path):
            self.artifacts.mkdir(parents=True, exist_ok=True)
        write_json(self._trial, trial.to_dict())

    def trial(self) -> Trial:
        return Trial.from_dict(json.loads(self._trial.read_text()))

    def append(self, event: str, **values: Any) -> None:
        """Add an event, with its time in milliseconds."""
        line = json.dumps({"event": event, "time": time.time_ns() // 1_000_000, **values})
        with writing(self.path), self._events.open("ab+") as file:
            _drop_half_a_line(file)
            file.write(f"{line}\n".encode())
            file.flush()
            os.fsync(file.fileno())  # on disk before the checkpoint of its epoch is

    def events(self, start: int = 0) -> tuple[list[Event], int]:
        """The events that begin at a place of the file, and the place where they end."""
        try:
            with self._events.open("rb") as file:
                file.seek(start)
                text = file.read()
        except FileNotFoundError:
            return [], 0
        whole = text[: text.rfind(b"\n") + 1]  # a line may be half written
        return [json.loads(line) for line in whole.splitlines()], start + len(whole)

    def last_epoch(self) -> int:
        """The last epoch that was written down; -1 if there is none."""
        return max((event["epoch"] for event in self.events()[0] if event["event"] == "epoch"), default=-1)

    def is_open(self) -> bool:
        """Whether it was started and has not said how it ended."""
        told = [event["event"] for event in self.events()[0] if event["event"] in ("started", "ended")]
        return told[-1:] == ["started"]

    def sent(self) -> dict[str, Any]:
        """`run`: the MLflow run; `place`: up to where it has the events."""
        return json.loads(self._sent.read_text()) if self._sent.is_file() else {}

    def mark_sent(self, **values: Any) -> None:
        write_json(self._sent, {**self.sent(), **values})

    def forget_run(self) -> None:
        """MLflow has nothing of this trial: all is to be sent again."""
        self._sent.unlink(missing_ok=True)

    def remove(self) -> None:
        shutil.rmtree(self.path, ignore_errors=True)


def _drop_half_a_line(file: BinaryIO) -> None:
    """What a crash or a full disk left at the end of a file that is open for appending."""
    end = file.seek(0, os.SEEK_END)
    if end:
        file.seek(end - 1)
        if file.read(1) != b"\n":
            file.seek(0)
            file.truncate(file.read().rfind(b"\n") + 1)


def write_json(path: Path, values: Mapping[str, Any]) -> None:
    """In one step, so that a reader sees the old file or the new one."""
    unfinished = path.with_name(f"{path.name}.unfinished")
    with writing(path.parent):
        unfinished.write_text(json.dumps(values, indent=1))
        os.replace(unfinished, path)
