"""Write a study to MLflow: one experiment per study, one run per invocation, and below it one run per trial."""

import functools
import getpass
import json
import os
import platform
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import psutil

from gredkit.system.git import git_commit
from gredkit.tracking.claims import Claims
from gredkit.tracking.runs import HASHES, PLAN, TUNING, Known, StudyRuns, find_experiment, start_of, this_machine
from gredkit.tracking.store import Client, StoreError, connect, database, tracking_uri
from gredkit.trials.state import TrialState
from gredkit.trials.trial import Trial

STATUS = {
    TrialState.FINISHED: "FINISHED",
    TrialState.DIVERGED: "FAILED",
    TrialState.FAILED: "FAILED",
    TrialState.INTERRUPTED: "KILLED",
}
LONGEST = 5000  # characters of a tag or a parameter; MLflow accepts a few more
METRICS, PARAMS = 800, 90  # MLflow accepts 1000 values at a time, 100 of them parameters
HEARTBEAT = 30.0  # seconds between two heartbeats of an invocation
PLANNED = (
    *("id", "variant", "dataset", "seed", "role", "tuning"),
    *("parameters", "metric", "larger_is_better", "diameters"),
)


class Tracker(StudyRuns):
    """Writes a study to MLflow; all calls of an invocation go through one tracker, in one process."""

    def __init__(self, study: str, uri: str | None = None):
        uri = tracking_uri(uri)
        client = connect(uri)
        super().__init__(study, uri, client, _experiment(client, study, uri))
        self.invocation = ""
        self._beat = 0.0
        self._claims: Claims | None = None  # once it has begun
        self._had: dict[str, set[tuple[str, int]]] = {}

    def repair(self) -> int:
        """Mark runs that a crash left `RUNNING` as interrupted; returns how many."""
        dead = self.dead()
        for run in dead:
            self.client.set_tag(run, "state", TrialState.INTERRUPTED.value)
            self.client.set_terminated(run, "KILLED")
        return len(dead)

    def begin(self, command: str, files: Iterable[str]) -> None:
        """Create the run of this invocation, the parent of its trials' runs."""
        tags = {
            "kind": "study",
            "study": self.study,
            "state": TrialState.RUNNING.value,
            "command": command,
            **this_machine(),
            "pid": str(os.getpid()),
            "started": start_of(psutil.Process()),
            "heartbeat": str(time.time()),
            **common_tags(),
        }
        name = f"{self.study}, {time.strftime('%Y-%m-%d %H:%M:%S')}"
        run = self.client.create_run(self.experiment, tags=tags, run_name=name)
        self.invocation = run.info.run_id
        self._claims = Claims(self)
        for file in files:
            self.client.log_artifact(self.invocation, file, "study")

    def add_plan(self, trials: Iterable[Trial], is_tuning: bool) -> None:
        """Store which trials belong to this invocation, including those that were trained before."""
        rows = [_planned(trial) for trial in trials]
        self.client.log_dict(self.invocation, {"trials": rows}, TUNING if is_tuning else PLAN)

    def tell_rounds(self, said: Iterable[str]) -> None:
        """Store what the rounds until now have decided; the last sentences, if there are too many."""
        self.client.set_tag(self.invocation, "rounds", "\n".join(said)[-LONGEST:])

    def add_hashes(self, hashes: Mapping[str, Sequence[str]]) -> None:
        """Store the hashes of the data, by the names of the datasets."""
        self.client.log_dict(self.invocation, {name: list(some) for name, some in hashes.items()}, HASHES)

    def beat(self) -> None:
        """Send a heartbeat if the last one is old enough."""
        if self.invocation and time.monotonic() - self._beat > HEARTBEAT:
            self.client.set_tag(self.invocation, "heartbeat", str(time.time()))
            self._beat = time.monotonic()

    def end(self, states: Mapping[TrialState, int]) -> None:
        """Close the run of this invocation."""
        if not self.invocation:
            return
        worst = (TrialState.INTERRUPTED, TrialState.FAILED)
        state = next((one for one in worst if states.get(one)), TrialState.FINISHED)
        from mlflow.entities import Metric

        now = int(time.time() * 1000)
        counts = [Metric(f"trials/{name}", float(count), now, 0) for name, count in states.items()]
        self.log(self.invocation, metrics=counts, tags={"state": state.value})
        self.client.set_terminated(self.invocation, STATUS[state])

    def abandon(self) -> None:
        """Close the run of this invocation as interrupted, because the command fails."""
        if self.invocation:
            self.client.set_tag(self.invocation, "state", TrialState.INTERRUPTED.value)
            self.client.set_terminated(self.invocation, STATUS[TrialState.INTERRUPTED])

    def claim(self, trial: str) -> str | None:
        """Claim a trial before it is trained; returns the owner if another living invocation was faster."""
        owner = self._claim(f"trial {trial}", self.invocation, lambda other: self.alive(other) is not None)
        return None if owner == self.invocation else self.alive(owner) or "another invocation"

    def claim_result(self, trial: str, run: str) -> bool:
        """Whether this run is the one that holds the trial's result.

        Two invocations may have trained the same trial: if the store did not answer when they claimed it, or if one
        was paused for so long that it counted as dead.
        """

        def holds(other: str) -> bool:
            known = next((one for one in self.runs_of(trial) if one.run == other), None)
            if known is None:
                return False
            parent = known.tags.get("mlflow.parentRunId", "")
            return known.state == TrialState.FINISHED or self.alive(parent) is not None

        return self._claim(f"result {trial}", run, holds) == run

    def _claim(self, what: str, mine: str, holds: Callable[[str], bool]) -> str:
        return mine if self._claims is None else self._claims.take(what, mine, holds)

    def has(self, run: str) -> set[tuple[str, int]]:
        """The metrics, with their steps, that earlier invocations have sent to a run; read once."""
        if run not in self._had:
            names = self.client.get_run(run).data.metrics
            self._had[run] = {
                (name, point.step) for name in names for point in self.client.get_metric_history(run, name)
            }
        return self._had[run]

    def forget(self, run: str) -> None:
        """Forget what a run has, because nothing more is sent to it for now."""
        self._had.pop(run, None)
        self.client.forget(run)

    def create(self, start: int, tags: Mapping[str, str], name: str) -> str:
        """Create an empty run for a trial."""
        run: str = self.client.create_run(self.experiment, start, tags, name).info.run_id
        self._had[run] = set()
        return run

    def log(
        self,
        run: str,
        metrics: Sequence[Any] = (),
        params: Mapping[str, str] | None = None,
        tags: Mapping[str, str] | None = None,
    ) -> None:
        """Send metrics, parameters and tags with as few requests as MLflow allows; the tags go last."""
        from mlflow.entities import Param, RunTag

        told = [Param(name, value) for name, value in (params or {}).items()]
        while len(metrics) > METRICS or len(told) > PARAMS:
            self.client.log_batch(run, metrics=metrics[:METRICS], params=told[:PARAMS])
            metrics, told = metrics[METRICS:], told[PARAMS:]
        named = [RunTag(name, value) for name, value in (tags or {}).items()]
        if metrics or told or named:
            self.client.log_batch(run, metrics=metrics, params=told, tags=named)

    def add_data(self, run: str, trial: Trial) -> None:
        """Name the dataset of a trial, with a hash of its graphs and splits and the number of graphs in each split."""
        from mlflow.entities import Dataset, DatasetInput, InputTag

        if not trial.data:  # it was planned by an older version
            return
        source = {"tags": {"mlflow.source.name": "gredkit.data", "dataset": trial.settings["dataset"]}}
        sizes = trial.data["sizes"]
        data = Dataset(
            name=trial.dataset,
            digest=trial.data["digest"],
            source_type="code",
            source=json.dumps(source),
            profile=json.dumps({"num_rows": sum(sizes.values()), **sizes}),
        )
        tags = [InputTag("mlflow.data.context", ", ".join(sizes))]
        self.client.log_inputs(run, [DatasetInput(data, tags)])

    def discard(self, run: str) -> None:
        """Delete a run whose trial is trained again; MLflow can restore it."""
        self.client.delete_run(run)

    def relabel(self, known: Known, trial: Trial) -> None:
        """Update variant, dataset and role of a run, because a trial trained before may now have other names."""
        role = "final" if "final" in (known.tags.get("role"), trial.role) else "tune"
        tags = {"variant": trial.variant, "dataset": trial.dataset, "role": role}
        self.log(known.run, tags={name: value for name, value in tags.items() if known.tags.get(name) != value})


def _experiment(client: Client, study: str, uri: str) -> str:
    """The experiment of the study, created on first use."""
    found = find_experiment(client, study)
    if found is None:
        kind = {"mlflow.experimentKind": "custom_model_development"}  # MLflow shows runs, not prompts
        try:
            return client.create_experiment(study, _artifacts(uri, study), kind)
        except StoreError:
            found = find_experiment(client, study)  # somebody else was faster
            if found is None:
                raise
    return found


def _planned(trial: Trial) -> dict[str, Any]:
    """What a report needs about a trial that has not started."""
    described = {"axes": trial.axes, "epochs": trial.settings["fit.epochs"], "K": trial.settings["K"], **trial.compared}
    return {key: getattr(trial, key) for key in PLANNED} | json.loads(json.dumps(described, default=repr))


def _artifacts(uri: str, study: str) -> str | None:
    """The folder of artifacts beside a SQLite store; None for a server, which has its own."""
    file = database(uri)
    return None if file is None else (file.parent / "mlartifacts" / study).as_uri()


@functools.cache
def common_tags() -> dict[str, str]:
    """Tags of every run: user, commit, Python version."""
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
    except (KeyError, OSError):  # a user id without a name, as in containers
        return "unknown"
