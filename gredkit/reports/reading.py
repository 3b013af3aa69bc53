"""Reads a study from MLflow, and from nowhere else."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import pandas as pd

from gredkit.errors import UserError
from gredkit.reports.distance import read_distance
from gredkit.reports.drawing.spectra import HAVE_EIGENVALUES, HAVE_HOP_WEIGHTS, wanted
from gredkit.reports.study import (
    AXIS,
    CURVES,
    EIGENVALUES,
    HOP_WEIGHTS,
    IDENTITY,
    MEASURED,
    NOT_SET,
    NOTE,
    PLANNED,
    RESULTS,
    SETTING,
    StudyData,
)
from gredkit.system.private import shown
from gredkit.system.sealed import Damaged
from gredkit.tracking.runs import HASHES, Known, StudyRuns
from gredkit.tracking.store import SQLITE, StoreError
from gredkit.tracking.stored import curve_of, eigenvalues_of, environment_of, hashes_of, hop_weights_of
from gredkit.trials.state import TrialState

HISTORY = {"train_loss": "train/loss", "validation": "validation/score"}
NEEDED = {*IDENTITY, "role", "tuning", *PLANNED, "axes", "diameters"}  # columns of every trial of a plan
MACHINES = 5  # invocations whose machine is read
NOTES = "notes."  # prefix of the parameters that describe the data
Row = dict[str, Any]


def read_study(runs: StudyRuns, distance: bool = False, benchmarks: bool = False) -> StudyData:
    """The trials that the last invocation planned, no matter which invocation trained them.

    distance: whether to look at stored models, which takes a second or more for each model that nobody has looked at.
    benchmarks: whether this may open datasets that are downloaded where they are missing
    """
    found = StudyData(runs.study, uri=shown(_from_here(runs.uri)), experiment=runs.experiment)
    for invocation in runs.invocations():
        if planned := runs.planned(invocation.run):
            break
    else:
        return found
    command = shown(invocation.tags.get("command", ""))
    if any(NEEDED - row.keys() for row in planned):
        raise UserError(f"an older gredkit planned the study {runs.study!r}: run its command again, {command}")
    trained = _trained(runs, planned)
    results = _results(planned, trained, set(runs.dead()))
    diameters = {row["dataset"]: tuple(row["diameters"]) for row in planned if row["diameters"]}
    with_eigenvalues, with_weights = (
        results[results["id"].isin(wanted(results, diameters, have))] for have in (HAVE_EIGENVALUES, HAVE_HOP_WEIGHTS)
    )
    return StudyData(
        runs.study,
        results,
        _curves(runs, results, trained),
        pd.DataFrame(_eigenvalues(runs, with_eigenvalues), columns=list(EIGENVALUES)),
        pd.DataFrame(_hop_weights(runs, with_weights), columns=list(HOP_WEIGHTS)),
        *(read_distance(runs, results, benchmarks) if distance else (StudyData("").influence, StudyData("").knock_out)),
        diameters,
        {path.rpartition("/")[2]: runs.text(invocation.run, path) for path in _files(runs, invocation.run)},
        command,
        invocation.tags.get("git_commit", ""),
        found.uri,
        found.experiment,
        tuple(_environments(runs, trained)),
        _hashes(runs, invocation.run),
    )


def read_results(runs: StudyRuns, invocation: str) -> pd.DataFrame:
    """The results of the trials that an invocation has planned by now, as a report of it has them."""
    planned = runs.planned(invocation)
    return _results(planned, _trained(runs, planned), set(runs.dead()))


def _trained(runs: StudyRuns, planned: list[Row]) -> dict[str, Known]:
    """The planned trials that MLflow has, by id."""
    known = runs.trials()
    return {row["id"]: known[row["id"]] for row in planned if row["id"] in known}


def _from_here(uri: str) -> str:
    """A database in the working folder by its relative path, so that the page's commands work on any machine."""
    file, here = Path(uri.removeprefix(SQLITE)), Path.cwd()
    return f"{SQLITE}{file.relative_to(here)}" if uri.startswith(SQLITE) and file.is_relative_to(here) else uri


def _results(planned: list[Row], trained: Mapping[str, Known], dead: set[str]) -> pd.DataFrame:
    """One row per planned trial: what was planned, how it ended, what was measured, and all its settings."""
    rows = []
    axes = dict.fromkeys(name for plan in planned for name in plan["axes"])
    for plan in planned:
        row = {name: value for name, value in plan.items() if name not in ("axes", "diameters")}
        for name in axes:
            unset = plan["K"] if name.rpartition(".")[2] == "K" else NOT_SET
            row[f"{AXIS}{name}"] = plan["axes"].get(name, unset)
        known = trained.get(plan["id"])
        rows.append(
            row | (_told(known, dead) if known else {"state": TrialState.MISSING.value, "message": "", "run": ""})
        )
    frame = pd.DataFrame(rows)
    others = sorted(set(frame.columns) - set(RESULTS), key=lambda name: (name.split(":")[0], name))
    frame = frame.reindex(columns=[*RESULTS, *others])
    for time in ("started", "ended"):
        frame[time] = pd.to_datetime(frame[time], unit="ms", utc=True)
    return frame


def _told(known: Known, dead: set[str]) -> Row:
    """What MLflow has of one trial."""
    row: Row = {column: known.metrics.get(name) for column, name in MEASURED.items()}
    state = TrialState.INTERRUPTED if known.run in dead else known.state
    row |= {"state": state.value, "message": known.message, "run": known.run}
    row |= {"started": known.started, "ended": known.ended}
    row |= {name: known.tags.get(name, "") for name in ("device", "kernels", "git_commit")}
    row["seconds_per_epoch"] = _seconds_per_epoch(known.metrics)
    row["jobs"] = pd.to_numeric(known.tags.get("jobs"), errors="coerce")
    for name, value in known.params.items():
        is_note = name.startswith(NOTES)
        row[f"{NOTE}{name.removeprefix(NOTES)}" if is_note else f"{SETTING}{name}"] = value
    return row


def _seconds_per_epoch(metrics: Mapping[str, float]) -> float | None:
    """The mean over all epochs, which one busy moment changes less than it changes a single epoch."""
    seconds, last = metrics.get("cost/seconds"), metrics.get("final/epoch")
    return seconds / (last + 1) if seconds is not None and last is not None and last >= 0 else None


def _curves(runs: StudyRuns, results: pd.DataFrame, trained: Mapping[str, Known]) -> pd.DataFrame:
    """Epochs of every trial: from the tag of a trial that has ended, else from the history that MLflow keeps."""
    columns: dict[str, list[Any]] = {name: [] for name in CURVES}
    for *trial, state in _rows(results, *IDENTITY, "state"):
        known = trained.get(trial[0])
        if known is None or HISTORY["validation"] not in known.metrics:
            continue
        curve = _curve(known.tags.get("curve", "")) if state != TrialState.RUNNING else None
        curve = curve or _history(runs, known.run)
        length = min(map(len, curve.values()))  # a history may be read while it grows
        for name, value in zip(IDENTITY, trial, strict=True):
            columns[name] += [value] * length
        for name, values in curve.items():
            columns[name] += values[:length]
    return pd.DataFrame(columns)


def _curve(told: str) -> dict[str, list[float]] | None:
    try:
        return curve_of(told) if told else None
    except Damaged:
        return None


def _history(runs: StudyRuns, run: str) -> dict[str, list[float]]:
    points = {name: runs.client.get_metric_history(run, key) for name, key in HISTORY.items()}
    epochs = [point.step for point in points["validation"]]
    return {"epoch": epochs, **{name: [point.value for point in of] for name, of in points.items()}}


def _eigenvalues(runs: StudyRuns, results: pd.DataFrame) -> Iterator[tuple[Any, ...]]:
    for *layer, values in _layers(runs, results, "eigenvalues.json", eigenvalues_of):
        for parts in values:
            yield *layer, *parts


def _hop_weights(runs: StudyRuns, results: pd.DataFrame) -> Iterator[tuple[Any, ...]]:
    for *layer, values in _layers(runs, results, "hop_weights.json", hop_weights_of):
        for hop, weight in enumerate(values):
            yield *layer, hop, weight


def _layers(
    runs: StudyRuns, results: pd.DataFrame, file: str, read: Callable[[str], dict[str, list[Any]]]
) -> Iterator[tuple[Any, ...]]:
    """Trial, layer, moment and their values in a file; files that cannot be read are left out, as the legend says."""
    for *trial, run in _rows(results, *IDENTITY, "run"):
        try:
            moments = read(runs.text(run, file))
        except (StoreError, Damaged):
            continue
        for moment, layers in moments.items():
            for layer, values in enumerate(layers):
                yield *trial, layer, moment, values


def _environments(runs: StudyRuns, trained: Mapping[str, Known]) -> Iterator[Mapping[str, Any]]:
    """Machine and packages, from one trial of each of the last invocations; without those that cannot be read."""
    latest = sorted(trained.values(), key=lambda known: known.started or 0, reverse=True)
    by_invocation: dict[str, Known] = {}
    for known in latest:
        by_invocation.setdefault(known.tags.get("mlflow.parentRunId", ""), known)
    for known in list(by_invocation.values())[:MACHINES]:
        with suppress(StoreError, Damaged):
            yield environment_of(runs.text(known.run, "environment.json"))


def _hashes(runs: StudyRuns, invocation: str) -> Mapping[str, list[str]]:
    """Of the data, if the invocation recorded them."""
    try:
        return hashes_of(runs.text(invocation, HASHES)) if HASHES in runs.artifacts(invocation) else {}
    except (StoreError, Damaged):
        return {}


def _rows(results: pd.DataFrame, *columns: str) -> Iterator[tuple[Any, ...]]:
    return results[list(columns)].itertuples(index=False, name=None)


def _files(runs: StudyRuns, invocation: str) -> list[str]:
    return [file.path for file in runs.client.list_artifacts(invocation, "study")]
