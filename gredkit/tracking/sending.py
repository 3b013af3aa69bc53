"""Send one trial to MLflow, from the folder in which the trial records its events."""

import json
import re
from collections.abc import Collection
from pathlib import PurePosixPath
from typing import Any

import xxhash

from gredkit.system.private import portable, shown
from gredkit.system.writing import writing
from gredkit.tracking.measured import Event, curve, measured
from gredkit.tracking.store import StoreError
from gredkit.tracking.tracker import LONGEST, STATUS, Tracker, common_tags
from gredkit.trials.folder import TrialFolder
from gredkit.trials.state import TrialState
from gredkit.trials.trial import Trial

EARLY = ("config.gin",)  # files that do not change while a trial runs
FORBIDDEN = re.compile(r"[^\w .:/-]", re.ASCII)  # characters not allowed in the name of a parameter


def send(tracker: Tracker, folder: TrialFolder) -> bool:
    """Send what happened since the last call; returns whether the trial is completely sent.

    The folder records how far MLflow has the events. If a crash comes between sending and recording, the store is
    asked what it already has, so that nothing is sent twice.
    """
    sent = folder.sent()
    if sent.get("store", here := shown(tracker.uri)) != here:
        folder.forget_run()  # it was sent to another store
        sent = {}
    events, place = folder.events(sent.get("place", 0))
    if not events:
        return bool(sent.get("done"))
    run, is_new = sent.get("run"), False
    if run is None:
        run, is_new = _find_or_create(tracker, folder, events[0]["time"])
    lifecycle = [event for event in events if event["event"] in ("started", "ended")]
    if started := [event for event in lifecycle if event["event"] == "started"]:
        if not is_new:  # it was interrupted
            tracker.client.update_run(run, status="RUNNING")
        _start(tracker, run, folder, started[-1])
    metrics = [metric for event in events for metric in measured(event)]
    if metrics:
        has = tracker.has(run)
        metrics = [metric for metric in metrics if (metric.key, metric.step) not in has]
    ran = any(event["event"] == "kernels" for event in events)
    tags = {"kernels": _kernels(folder)} if ran else {}
    done = False
    if lifecycle and lifecycle[-1]["event"] == "ended":
        _end(tracker, run, folder, lifecycle[-1], metrics, tags)
        done = lifecycle[-1]["state"] != TrialState.INTERRUPTED
    else:
        tracker.log(run, metrics=metrics, tags=tags)
    folder.mark_sent(run=run, place=place, done=done)
    if lifecycle and lifecycle[-1]["event"] == "ended":
        tracker.forget(run)
    return done


def send_anew(tracker: Tracker, folder: TrialFolder) -> bool:
    """`send`; recreates the run if it was deleted, and sends everything again."""
    try:
        return send(tracker, folder)
    except StoreError as error:
        if not error.refused or "run" not in folder.sent():
            raise
    folder.forget_run()
    return send(tracker, folder)


def _find_or_create(tracker: Tracker, folder: TrialFolder, started: int) -> tuple[str, bool]:
    """The run of a trial, and whether it is new.

    A run that was created just before a crash is recognised by the time of the first event. A trial of which nothing
    was ever sent is not looked for.
    """
    trial = folder.trial()
    known_runs = tracker.runs_of(trial.id) if folder.was_sent() else []
    folder.mark_sent()  # from now on there may be a run
    same = sorted(known.run for known in known_runs if known.started == started)
    run = same[0] if same else _create(tracker, trial, started)
    folder.mark_sent(run=run, store=shown(tracker.uri))
    return run, not same


def _create(tracker: Tracker, trial: Trial, started: int) -> str:
    """Create a run with the tags that users select and group by in MLflow."""
    tags = {
        "kind": "trial",
        "study": trial.study,
        "variant": trial.variant,
        "dataset": trial.dataset,
        "seed": str(trial.seed),
        "role": trial.role,
        "tuning": trial.tuning,
        "trial_id": trial.id,
        "metric": trial.metric,
        "larger_is_better": str(trial.larger_is_better).lower(),
        "axes": json.dumps(trial.axes, default=repr),
        "state": TrialState.RUNNING.value,
        "mlflow.parentRunId": tracker.invocation,
        **common_tags(),
    }
    tags = {name: value[:LONGEST] for name, value in tags.items() if value}
    name = f"{trial.variant} · {trial.dataset} · {trial.repetition}"
    return tracker.create(started, tags, name)


def _start(tracker: Tracker, run: str, folder: TrialFolder, event: Event) -> None:
    """Record that the trial runs, for the first time or again, under this invocation."""
    tags = {
        "message": "",  # of an earlier attempt
        "state": TrialState.RUNNING.value,
        "device": event["device"],
        "mlflow.parentRunId": tracker.invocation,
    }
    if jobs := _jobs(folder):
        tags["jobs"] = jobs
    settings = {}
    if not folder.sent().get("described"):
        trial = folder.trial()
        settings = {**trial.settings, "variant": trial.variant, **event["described"]}
        tracker.add_data(run, trial)
    tracker.log(run, params=_params(settings), tags=tags)
    _send_files(tracker, run, folder, EARLY)
    folder.mark_sent(described=True)


def _jobs(folder: TrialFolder) -> str:
    """How many trials ran side by side, at most, in all attempts; empty if one of them did not say so."""
    told: list[int | None] = [event.get("jobs") for event in folder.events()[0] if event["event"] == "started"]
    known = [jobs for jobs in told if jobs is not None]
    return str(max(known)) if known and len(known) == len(told) else ""


def _kernels(folder: TrialFolder) -> str:
    """Whether compiled kernels ran; if attempts differ, one after the other."""
    told = dict.fromkeys(event["used"] for event in folder.events()[0] if event["event"] == "kernels")
    return portable("; then ".join(told))[:LONGEST]


def _params(settings: dict[str, Any]) -> dict[str, str]:
    """The parameters of a run, which MLflow accepts only once."""
    return {FORBIDDEN.sub("_", name): str(value)[:LONGEST] for name, value in settings.items()}


def _send_files(tracker: Tracker, run: str, folder: TrialFolder, names: Collection[str] = ()) -> None:
    """Send the files of a trial, or only some, that are new or have changed since they were sent."""
    sent: dict[str, str] = dict(folder.sent().get("files", {}))
    for path in sorted(path for path in folder.artifacts.rglob("*") if path.is_file()):
        name = path.relative_to(folder.artifacts).as_posix()
        content = xxhash.xxh3_64_hexdigest(path.read_bytes())
        if sent.get(name) != content and (not names or name in names):
            above = PurePosixPath(name).parent.as_posix()
            tracker.client.log_artifact(run, str(path), None if above == "." else above)
            sent[name] = content
    folder.mark_sent(files=sent)


def _end(
    tracker: Tracker, run: str, folder: TrialFolder, event: Event, metrics: list[Any], tags: dict[str, str]
) -> None:
    """Send the end of a trial; the state comes last, so that a reader who sees it finds everything else."""
    trial = folder.trial()
    tags = {**tags, "message": portable(event["message"])[:LONGEST], "state": event["state"]}
    if trained := curve(folder.events()[0]):
        tags["curve"] = trained
    if folder.log.is_file() and folder.log.stat().st_size:
        with writing(folder.path):
            (folder.artifacts / folder.log.name).write_text(portable(folder.log.read_text(errors="replace")))
    _send_files(tracker, run, folder)
    if event["state"] == TrialState.FINISHED and not tracker.claim_result(trial.id, run):
        tracker.discard(run)  # another invocation has sent the same result
        return
    tracker.log(run, metrics=metrics, tags=tags)
    tracker.client.set_terminated(run, STATUS[event["state"]], event["time"])
