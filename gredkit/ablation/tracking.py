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

from gredkit.ablation.folder import Event, TrialFolder
from gredkit.ablation.measured import measured
from gredkit.ablation.plan import Plan
from gredkit.ablation.record import git_commit
from gredkit.ablation.trial import Trial
from gredkit.errors import UserError
from gredkit.store import SQLITE, connect, tracking_uri

STATUS = {"finished": "FINISHED", "diverged": "FAILED", "failed": "FAILED", "interrupted": "KILLED"}
PARAM_LENGTH = 6000  # the most that MLflow takes
BATCH = {"metrics": 900, "params": 90}  # MLflow takes 1000 and 100 at a time
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
        self._client = connect(self.uri)
        self.experiment = self._experiment()
        self.invocation = ""
        self._beat = 0.0

    def trials(self) -> dict[str, Known]:
        """The runs of this study's trials by their ids; of several of one trial the latest."""
        known: dict[str, Known] = {}
        for run in self._search("tags.kind = 'trial'"):
            known.setdefault(run.data.tags["trial_id"], Known(run.info.run_id, run.data.tags, run.data.metrics))
        return known

    def repair(self) -> int:
        """Runs that a crash left `RUNNING` become interrupted ones; those of a living invocation stay."""
        runs = self._search("attributes.status = 'RUNNING'")
        alive = {run.info.run_id for run in runs if run.data.tags.get("kind") == "study" and _is_alive(run.data.tags)}
        dead = [run for run in runs if not {run.info.run_id, run.data.tags.get("mlflow.parentRunId")} & alive]
        for run in dead:
            self._client.set_tag(run.info.run_id, "state", "interrupted")
            self._client.set_terminated(run.info.run_id, "KILLED")
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
            **_common(),
        }
        name = f"{self.study}, {time.strftime('%Y-%m-%d %H:%M:%S')}"
        run = self._client.create_run(self.experiment, tags=tags, run_name=name)
        self.invocation = run.info.run_id
        for file in files:
            self._client.log_artifact(self.invocation, file, "study")
        self.add_plan(plan)

    def add_plan(self, plan: Plan) -> None:
        """Which trials this invocation is about, also those that were trained before."""
        rows = [{key: getattr(trial, key) for key in PLANNED} for trial in plan.trials]
        self._client.log_dict(self.invocation, {"trials": rows}, "tuning.json" if plan.is_tuning else "plan.json")

    def last_plan(self) -> list[dict[str, Any]]:
        """The trials that the last invocation was about; none if there was none, or if it is still tuning."""
        for run in self._search("tags.kind = 'study'")[:1]:
            if any(file.path == "plan.json" for file in self._client.list_artifacts(run.info.run_id)):
                with tempfile.TemporaryDirectory() as folder:
                    path = self._client.download_artifacts(run.info.run_id, "plan.json", folder)
                    return json.loads(Path(path).read_text())["trials"]
        return []

    def beat(self) -> None:
        """A sign of life, now and then."""
        if self.invocation and time.monotonic() - self._beat > HEARTBEAT:
            self._client.set_tag(self.invocation, "heartbeat", str(time.time()))
            self._beat = time.monotonic()

    def end(self, states: Mapping[str, int]) -> None:
        """Close the run of this invocation."""
        if not self.invocation:
            return
        state = "interrupted" if states.get("interrupted") else "failed" if states.get("failed") else "finished"
        self._client.set_tag(self.invocation, "state", state)
        for name, count in states.items():
            self._client.log_metric(self.invocation, f"trials/{name}", count)
        self._client.set_terminated(self.invocation, STATUS[state])

    def discard(self, run: str) -> None:
        """Delete a run that is done again; MLflow can bring it back."""
        self._client.delete_run(run)

    def relabel(self, known: Known, trial: Trial) -> None:
        """A trial that was trained under one name, or to tune, may now serve under another."""
        role = "final" if "final" in (known.tags.get("role"), trial.role) else "tune"
        for name, value in {"variant": trial.variant, "dataset": trial.dataset, "role": role}.items():
            if known.tags.get(name) != value:
                self._client.set_tag(known.run, name, value)

    def send(self, folder: TrialFolder) -> bool:
        """Tell MLflow what happened since the last time; whether the trial is done with."""
        sent = folder.sent()
        events, place = folder.events(sent.get("place", 0))
        if not events:
            return bool(sent.get("done"))
        run = sent.get("run") or self._run(folder)
        trial = folder.trial()
        for event in events:
            if event["event"] == "started":
                self._start(run, trial, event)
                self._client.log_artifacts(run, str(folder.artifacts))
        self._log(run, [metric for event in events for metric in measured(trial, event)])
        last = [event for event in events if event["event"] in ("started", "ended")][-1:]
        ended = last[0] if last and last[0]["event"] == "ended" else None
        if ended:
            self._finish(run, folder, ended)
        done = ended is not None and ended["state"] != "interrupted"
        folder.mark_sent(run=run, place=place, done=done)
        return done

    def _run(self, folder: TrialFolder) -> str:
        trial = folder.trial()
        tags = {
            "kind": "trial",
            "study": trial.study,
            "variant": trial.variant,
            "dataset": trial.dataset,
            "seed": str(trial.seed),
            "role": trial.role,
            "trial_id": trial.id,
            "metric": trial.metric,
            "larger_is_better": str(trial.larger_is_better).lower(),
            "axes": json.dumps(trial.axes, default=repr),
            "state": "running",
            "mlflow.parentRunId": self.invocation,
            **_common(),
        }
        if trial.tuning:
            tags["tuning"] = trial.tuning
        name = f"{trial.variant} · {trial.dataset} · seed {trial.seed}"
        run = self._client.create_run(self.experiment, tags=tags, run_name=name).info.run_id
        folder.mark_sent(run=run)
        return run

    def _start(self, run: str, trial: Trial, event: Event) -> None:
        from mlflow.entities import Param

        self._client.update_run(run, status="RUNNING")
        values = {**trial.settings, "variant": trial.variant, "parameters": event["parameters"], **event["notes"]}
        params = [Param(name, str(value)[:PARAM_LENGTH]) for name, value in values.items()]
        for begin in range(0, len(params), BATCH["params"]):
            self._client.log_batch(run, params=params[begin : begin + BATCH["params"]])
        tags = {"state": "running", "device": event["device"], "mlflow.parentRunId": self.invocation}
        for name, value in tags.items():
            self._client.set_tag(run, name, value)

    def _finish(self, run: str, folder: TrialFolder, event: Event) -> None:
        self._client.set_tag(run, "state", event["state"])
        if event["message"]:
            self._client.set_tag(run, "message", event["message"][:5000])
        self._client.log_artifacts(run, str(folder.artifacts))
        if folder.log.is_file() and folder.log.stat().st_size:
            self._client.log_artifact(run, str(folder.log))
        self._client.set_terminated(run, STATUS[event["state"]], event["time"])

    def _log(self, run: str, metrics: list[Any]) -> None:
        for begin in range(0, len(metrics), BATCH["metrics"]):
            self._client.log_batch(run, metrics=metrics[begin : begin + BATCH["metrics"]])

    def _experiment(self) -> str:
        """The experiment of the study, created on first use."""
        found = self._client.get_experiment_by_name(self.study)
        if found is None:
            return self._client.create_experiment(self.study, artifact_location=_artifacts(self.uri, self.study))
        if found.lifecycle_stage != "active":
            raise UserError(
                f"the MLflow experiment {self.study!r} was deleted: restore it with "
                f"`mlflow experiments restore -x {found.experiment_id}`, or set study.name to another name"
            )
        return found.experiment_id

    def _search(self, query: str) -> list[Any]:
        runs, token = [], None
        while True:
            page = self._client.search_runs(
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
def _common() -> dict[str, str]:
    commit = git_commit(Path.cwd())
    return {
        "git_commit": commit,
        "mlflow.source.git.commit": commit.rstrip("+"),
        "mlflow.source.name": "gredkit.run",
        "mlflow.source.type": "LOCAL",
        "mlflow.user": getpass.getuser(),
        "python": platform.python_version(),
    }


def _is_alive(tags: Mapping[str, str]) -> bool:
    """Whether the process of an invocation still runs: asked of this machine, believed of another."""
    if tags.get("host") != socket.gethostname():
        return time.time() - float(tags.get("heartbeat", 0)) < SILENT
    try:
        process = psutil.Process(int(tags["pid"]))
        return abs(process.create_time() - float(tags["started"])) < 1.0 and process.status() != psutil.STATUS_ZOMBIE
    except (psutil.Error, KeyError):
        return False
