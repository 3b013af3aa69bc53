"""What MLflow is told: an experiment a study, a run an invocation, below it a run a trial."""

import functools
import getpass
import json
import os
import platform
import socket
import tempfile
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from gredkit.ablation.plan import Plan
from gredkit.ablation.record import git_commit
from gredkit.ablation.trial import Trial
from gredkit.errors import UserError
from gredkit.store import SQLITE, StoreError, connect, tracking_uri

STATUS = {"finished": "FINISHED", "diverged": "FAILED", "failed": "FAILED", "interrupted": "KILLED"}
HEARTBEAT = 30.0  # seconds between two signs of life of an invocation
SILENT = 300.0  # seconds without one after which an invocation on another machine counts as dead
PAGE = 1000
PLANNED = ("id", "variant", "dataset", "seed", "role", "tuning", "parameters", "metric", "larger_is_better")


@dataclass(frozen=True)
class Known:
    """What MLflow has of a trial."""

    run: str
    tags: Mapping[str, str]
    metrics: Mapping[str, float]

    @property
    def state(self) -> str:
        return self.tags.get("state", "")

    @property
    def message(self) -> str:
        return self.tags.get("message", "")


class Tracker:
    """MLflow's side of a study. All of an invocation's calls go through one of these, in one process."""

    def __init__(self, study: str, uri: str | None = None):
        self.study, self.uri = study, tracking_uri(uri)
        self.client = connect(self.uri)
        self.experiment = self._experiment()
        self.invocation = ""
        self._beat = 0.0

    def trials(self) -> dict[str, Known]:
        """The runs of this study's trials by their ids; of several of one trial the latest."""
        known: dict[str, Known] = {}
        for run in self.search("tags.kind = 'trial'"):
            known.setdefault(run.data.tags["trial_id"], Known(run.info.run_id, run.data.tags, run.data.metrics))
        return known

    def trial(self, id: str) -> Known | None:
        """The latest run of one trial."""
        runs = self.search(f"tags.kind = 'trial' and tags.trial_id = '{id}'")
        return Known(runs[0].info.run_id, runs[0].data.tags, runs[0].data.metrics) if runs else None

    def repair(self) -> int:
        """Runs that a crash left `RUNNING` become interrupted ones; those of a living invocation stay."""
        runs = self.search("attributes.status = 'RUNNING'")
        alive = {run.info.run_id for run in runs if run.data.tags.get("kind") == "study" and _is_alive(run.data.tags)}
        dead = [run for run in runs if not {run.info.run_id, run.data.tags.get("mlflow.parentRunId")} & alive]
        for run in dead:
            self.client.set_tag(run.info.run_id, "state", "interrupted")
            self.client.set_terminated(run.info.run_id, "KILLED")
        return len(dead)

    def begin(self, command: str, files: Iterable[str], plan: Plan) -> None:
        """The run of this invocation, under which its trials stand."""
        tags = {
            "kind": "study",
            "study": self.study,
            "state": "running",
            "command": command,
            "host": socket.gethostname(),
            "pid": str(os.getpid()),
            "started": str(psutil.Process().create_time()),
            "heartbeat": str(time.time()),
            **common_tags(),
        }
        name = f"{self.study}, {time.strftime('%Y-%m-%d %H:%M:%S')}"
        run = self.client.create_run(self.experiment, tags=tags, run_name=name)
        self.invocation = run.info.run_id
        for file in files:
            self.client.log_artifact(self.invocation, file, "study")
        self.add_plan(plan)

    def add_plan(self, plan: Plan) -> None:
        """Which trials this invocation is about, also those that were trained before."""
        rows = [{key: getattr(trial, key) for key in PLANNED} for trial in plan.trials]
        self.client.log_dict(self.invocation, {"trials": rows}, "tuning.json" if plan.is_tuning else "plan.json")

    def last_plan(self) -> list[dict[str, Any]]:
        """The trials that this or the last invocation is about; none if it has not finished tuning."""
        last = [run.info.run_id for run in self.search("tags.kind = 'study'")[:1]]
        for run in [self.invocation] if self.invocation else last:
            if any(file.path == "plan.json" for file in self.client.list_artifacts(run)):
                with tempfile.TemporaryDirectory() as folder:
                    path = self.client.download_artifacts(run, "plan.json", folder)
                    return json.loads(Path(path).read_text())["trials"]
        return []

    def beat(self) -> None:
        """A sign of life, now and then."""
        if self.invocation and time.monotonic() - self._beat > HEARTBEAT:
            self.client.set_tag(self.invocation, "heartbeat", str(time.time()))
            self._beat = time.monotonic()

    def end(self, states: Mapping[str, int]) -> None:
        """Close the run of this invocation."""
        if not self.invocation:
            return
        state = "interrupted" if states.get("interrupted") else "failed" if states.get("failed") else "finished"
        self.client.set_tag(self.invocation, "state", state)
        for name, count in states.items():
            self.client.log_metric(self.invocation, f"trials/{name}", count)
        self.client.set_terminated(self.invocation, STATUS[state])

    def discard(self, run: str) -> None:
        """Delete a run that is done again; MLflow can bring it back."""
        self.client.delete_run(run)

    def relabel(self, known: Known, trial: Trial) -> None:
        """A trial that was trained under one name, or to tune, may now serve under another."""
        role = "final" if "final" in (known.tags.get("role"), trial.role) else "tune"
        for name, value in {"variant": trial.variant, "dataset": trial.dataset, "role": role}.items():
            if known.tags.get(name) != value:
                self.client.set_tag(known.run, name, value)

    def _experiment(self) -> str:
        """The experiment of the study, created on first use."""
        found = self.client.get_experiment_by_name(self.study)
        if found is None:
            kind = {"mlflow.experimentKind": "custom_model_development"}  # MLflow shows runs, not prompts
            try:
                return self.client.create_experiment(self.study, _artifacts(self.uri, self.study), kind)
            except StoreError as error:
                found = self.client.get_experiment_by_name(self.study)  # somebody else was faster
                if found is None:
                    raise error
        if found.lifecycle_stage != "active":
            raise UserError(
                f"the MLflow experiment {self.study!r} was deleted: restore it with "
                f"`mlflow experiments restore -x {found.experiment_id}`, or set study.name to another name"
            )
        return found.experiment_id

    def search(self, query: str = "") -> list[Any]:
        """The runs of this study, the latest first."""
        runs, token = [], None
        while True:
            page = self.client.search_runs(
                [self.experiment], query, max_results=PAGE, order_by=["attributes.start_time DESC"], page_token=token
            )
            runs += page
            token = page.token
            if not token:
                return runs


def _artifacts(uri: str, study: str) -> str | None:
    """Beside a SQLite store; a server knows its own place."""
    if not uri.startswith(SQLITE):
        return None
    return (Path(uri.removeprefix(SQLITE)).parent / "mlartifacts" / study).as_uri()


@functools.cache
def common_tags() -> dict[str, str]:
    """Of every run: who, from which commit."""
    commit = git_commit(Path.cwd())
    return {
        "git_commit": commit or "none",
        "mlflow.source.git.commit": commit.rstrip("+"),
        "mlflow.source.name": "gredkit.run",
        "mlflow.source.type": "LOCAL",
        "mlflow.user": _user(),
        "python": platform.python_version(),
    }


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a number without a name, as containers have
        return "unknown"


def _is_alive(tags: Mapping[str, str]) -> bool:
    """Whether the process of an invocation still runs: asked of this machine, believed of another."""
    if tags.get("host") != socket.gethostname():
        return time.time() - float(tags.get("heartbeat", 0)) < SILENT
    try:
        process = psutil.Process(int(tags["pid"]))
        return abs(process.create_time() - float(tags["started"])) < 1.0 and process.status() != psutil.STATUS_ZOMBIE
    except (psutil.Error, KeyError):
        return False
