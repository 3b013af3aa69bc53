"""How to find a trial again: the address of its run, and the commands that train it once more."""

import shlex
from collections.abc import Sequence
from urllib.parse import quote

from gredkit.reports.study import StudyData
from gredkit.tracking.store import open_command

LOCAL = "http://127.0.0.1:5000"  # where `mlflow ui` listens
FOLDER = "again"


def is_server(study: StudyData) -> bool:
    """Whether the runs are on a server that is already running."""
    return study.uri.startswith(("http://", "https://"))


def run_address(study: StudyData, run: str) -> str:
    """The address of the page that MLflow has of a run; empty if there is none."""
    experiment = study.experiments.get(run, study.experiment)
    if not (study.uri and experiment and run):
        return ""
    server = study.uri.rstrip("/") if is_server(study) else LOCAL
    return f"{server}/#/experiments/{quote(experiment, safe='')}/runs/{quote(run, safe='')}"


def trial_command(study: StudyData, run: str) -> str:
    """Fetches the settings of a trial and trains it again, apart from existing runs and reports."""
    return "\n".join(_commands(study, shlex.quote(run)))


def row_command(study: StudyData, runs: Sequence[str]) -> str:
    """The same for all seeds of a variant on a dataset."""
    if len(runs) == 1:
        return trial_command(study, runs[0])
    lines = (f"  {line}" for line in _commands(study, "$run"))
    return "\n".join([f"for run in {shlex.join(runs)}; do", *lines, "done"])


def store_command(study: StudyData) -> str:
    """The command that shows the runs; empty if a server shows them, or if there are none."""
    return "" if is_server(study) or not study.uri else open_command(study.uri)


def _commands(study: StudyData, run: str) -> tuple[str, str]:
    """The new run goes to another store, because in its own store the trial counts as finished."""
    store = f"MLFLOW_TRACKING_URI={shlex.quote(study.uri)} " if study.uri else ""
    return (
        f"{store}mlflow artifacts download --run-id {run} --artifact-path config.gin --dst-path {FOLDER}/{run}",
        f"python -m gredkit.run --gin {FOLDER}/{run}/config.gin "
        f"--tracking-uri sqlite:///{FOLDER}/mlflow.db --reports {FOLDER}",
    )
