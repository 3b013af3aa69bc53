"""Read what MLflow has about a study: its invocations, their plans, and the runs of its trials."""

import gc
import os
import socket
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

from gredkit.errors import UserError
from gredkit.names import nearest
from gredkit.system.private import shown
from gredkit.system.sealed import Damaged
from gredkit.tracking.store import Client, StoreError, connect, database, existing_store, tracking_uri
from gredkit.tracking.stored import plan_of
from gredkit.trials.state import TrialState

SILENT = 300.0  # seconds without a heartbeat after which an invocation on another machine counts as dead
PAGE = 1000
PLAN, TUNING, HASHES = "plan.json", "tuning.json", "data.json"
DEFAULT = "Default"  # the experiment that MLflow creates by itself


@dataclass(frozen=True)
class Known:
    """What MLflow knows about a trial; times are in milliseconds."""

    run: str
    tags: Mapping[str, str]
    metrics: Mapping[str, float]
    params: Mapping[str, str] = field(default_factory=dict)
    started: int | None = None
    ended: int | None = None

    @classmethod
    def of(cls, run: Any) -> "Known":
        return cls(
            run.info.run_id, run.data.tags, run.data.metrics, run.data.params, run.info.start_time, run.info.end_time
        )

    @property
    def state(self) -> TrialState:
        return TrialState.of(self.tags.get("state", ""))

    @property
    def message(self) -> str:
        return self.tags.get("message", "")


class StudyRuns:
    """The runs of one study in one store."""

    def __init__(self, study: str, uri: str, client: Client, experiment: str):
        self.study, self.uri, self.client, self.experiment = study, uri, client, experiment

    @classmethod
    def existing(cls, study: str, uri: str | None = None) -> "StudyRuns":
        """The runs of an existing study; creates neither a store nor an experiment."""
        uri = existing_store(tracking_uri(uri))
        client = connect(uri)
        found = find_experiment(client, study)
        if found is None:
            known = {experiment.name for experiment in client.search_experiments()} - {DEFAULT}
            raise UserError(f"there is no study {study!r} in {shown(uri)}: {nearest(study, known)}")
        return cls(study, uri, client, found)

    def search(self, query: str = "") -> list[Any]:
        """The runs of this study, the latest first."""
        runs, token = [], None
        order = ["attributes.start_time DESC"]
        with _uncollected():
            while True:
                page = self.client.search_runs(
                    [self.experiment], query, max_results=PAGE, order_by=order, page_token=token
                )
                runs += page
                token = page.token
                if not token:
                    return runs

    def trials(self) -> dict[str, Known]:
        """The run of each trial by its id; if a trial has several, the finished one, else the latest."""
        known: dict[str, Known] = {}
        for run in self.search("tags.kind = 'trial'"):
            id, one = run.data.tags.get("trial_id", ""), Known.of(run)
            if id not in known or (one.state == TrialState.FINISHED and known[id].state != TrialState.FINISHED):
                known[id] = one
        return known

    def trial(self, id: str) -> Known | None:
        """The run of one trial, chosen in the same way."""
        runs = self.runs_of(id)
        return next((one for one in runs if one.state == TrialState.FINISHED), runs[0] if runs else None)

    def runs_of(self, trial: str) -> list[Known]:
        """All runs of one trial, the latest first."""
        return [Known.of(run) for run in self.search(f"tags.kind = 'trial' and tags.trial_id = '{trial}'")]

    def alive(self, invocation: str) -> str | None:
        """A description of the process of an invocation; None if it has ended."""
        try:
            run = self.client.get_run(invocation)
        except StoreError as error:
            if not error.refused:
                raise
            return None  # somebody deleted it
        if run.info.status != "RUNNING" or not _is_alive(run.data.tags):
            return None
        return f"process {run.data.tags.get('pid')} on {run.data.tags.get('host')}"

    def invocations(self) -> list[Known]:
        """The runs of the study itself, the latest first."""
        return [Known.of(run) for run in self.search("tags.kind = 'study'")]

    def planned(self, invocation: str) -> list[dict[str, Any]]:
        """The trials in the plan of an invocation; tuning trials come last."""
        rows: dict[str, dict[str, Any]] = {}
        there = self.artifacts(invocation)
        for name in (PLAN, TUNING):
            try:
                for row in plan_of(self.text(invocation, name)) if name in there else ():
                    rows.setdefault(row["id"], row)
            except Damaged:
                said = f"{name} of the study {self.study!r} in {shown(self.uri)} is damaged"
                raise UserError(f"{said}: run the study's command again, which writes a new plan") from None
        return list(rows.values())

    def artifacts(self, run: str) -> set[str]:
        """The paths of the artifacts of a run, not those inside of folders."""
        return {file.path for file in self.client.list_artifacts(run)}

    def text(self, run: str, path: str) -> str:
        """The text of an artifact of a run; invalid UTF-8 is replaced."""
        with tempfile.TemporaryDirectory() as folder:
            return Path(self.client.download_artifacts(run, path, folder)).read_text(encoding="utf-8", errors="replace")

    def dead(self) -> list[str]:
        """The runs that a crash left in the state `RUNNING`, except those of a living invocation."""
        runs = self.search("attributes.status = 'RUNNING'")
        alive = {run.info.run_id for run in runs if run.data.tags.get("kind") == "study" and _is_alive(run.data.tags)}
        return [
            run.info.run_id for run in runs if not {run.info.run_id, run.data.tags.get("mlflow.parentRunId")} & alive
        ]


def all_studies(uri: str | None = None) -> list[StudyRuns]:
    """The studies of a store; none if there is no store."""
    uri = tracking_uri(uri)
    if (file := database(uri)) and not file.is_file():
        return []
    client = connect(uri)
    return [StudyRuns(found.name, uri, client, found.experiment_id) for found in client.search_experiments()]


def all_trials(uri: str | None = None) -> list[Known]:
    """The runs of the trials of all studies; none if there is no store."""
    return [trial for study in all_studies(uri) for trial in study.trials().values()]


@contextmanager
def _uncollected() -> Iterator[None]:
    """Turn off garbage collection, which takes a third of the time when MLflow creates a million objects."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def find_experiment(client: Client, study: str) -> str | None:
    """The experiment of a study, or None; raises if it was deleted, because the user must restore it."""
    found = client.get_experiment_by_name(study)
    if found is not None and found.lifecycle_stage != "active":
        raise UserError(
            f"the MLflow experiment {study!r} was deleted: restore it with "
            f"`mlflow experiments restore -x {found.experiment_id}`, or set study.name to another name"
        )
    return None if found is None else found.experiment_id


def this_machine() -> dict[str, str]:
    """Where a process id is valid: the host, and the process namespace, which is different in each container."""
    try:
        namespace = os.readlink("/proc/self/ns/pid")
    except OSError:  # not on Linux
        namespace = ""
    return {"host": socket.gethostname(), "pid_namespace": namespace}


def start_of(process: psutil.Process) -> str:
    """When a process was started, so that another one with its number is not taken for it.

    On Linux in ticks since the machine was started: its time of day moves when somebody sets the clock.
    """
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{boot} {Path(f'/proc/{process.pid}/stat').read_text().rpartition(')')[2].split()[19]}"
    except OSError:  # another system, or it has just ended
        return str(process.create_time())


def _is_alive(tags: Mapping[str, str]) -> bool:
    """Whether the process of an invocation still runs: checked on this machine, by heartbeat on others."""
    try:
        if any(tags.get(name, value) != value for name, value in this_machine().items()):
            return time.time() - float(tags.get("heartbeat", 0)) < SILENT
        process = psutil.Process(int(tags["pid"]))
        return start_of(process) == tags["started"] and process.status() != psutil.STATUS_ZOMBIE
    except (psutil.Error, KeyError, ValueError, OverflowError):  # an invalid tag does not count as alive
        return False
