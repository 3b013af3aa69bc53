"""Send one trial to MLflow, from the folder in which the trial records its events."""

import json
import re
from typing import Any

from gredkit.system.private import portable, shown
from gredkit.tracking.measured import Event, curve, measured
from gredkit.tracking.store import StoreError
from gredkit.tracking.tracker import STATUS, Tracker, common_tags
from gredkit.trials.folder import TrialFolder
from gredkit.trials.state import TrialState
from gredkit.trials.trial import Trial

LONGEST = 5000  # characters of a tag or a parameter; MLflow accepts a few more
FORBIDDEN = re.compile(r"[^\w .:/-]", re.ASCII)  # characters not allowed in the name of a parameter
METRICS, PARAMS = 900, 90  # MLflow accepts 1000 and 100 at a time


def send(tracker: Tracker, folder: TrialFolder) -> bool:
    """Send what happened since the last call; returns whether the trial is completely sent.

    The folder records how far MLflow has the events. If a crash comes between sending and recording, the store is
    asked what it already has, so that nothing is sent twice.
    """
    if folder.sent().get("store") != shown(tracker.uri):
        folder.forget_run()  # it was sent to another store
    sent = folder.sent()
    events, place = folder.events(sent.get("place", 0))
    if not events:
        return bool(sent.get("done"))
    run = sent.get("run") or _find_or_create(tracker, folder, events[0]["time"])
    lifecycle = [event for event in events if event["event"] in ("started", "ended")]
    if started := [event for event in lifecycle if event["event"] == "started"]:
        _start(tracker, run, folder, started[-1])
    if any(event["event"] == "kernels" for event in events):
        tracker.client.set_tag(run, "kernels", _kernels(folder))
    metrics = [metric for event in events for metric in measured(event)]
    if metrics:
        has = tracker.has(run)
        metrics = [metric for metric in metrics if (metric.key, metric.step) not in has]
    for begin in range(0, len(metrics), METRICS):
        tracker.client.log_batch(run, metrics=metrics[begin : begin + METRICS])
    done = False
    if lifecycle and lifecycle[-1]["event"] == "ended":
        _end(tracker, run, folder, lifecycle[-1])
        done = lifecycle[-1]["state"] != TrialState.INTERRUPTED
    folder.mark_sent(run=run, place=place, done=done)
    return done


def send_anew(tracker: Tracker, folder: TrialFolder) -> bool:
    """`send`; recreates the run if it was deleted, and sends everything again."""
    try:
        return send(tracker, folder)
    except StoreError as error:
        if not error.refused or not folder.sent():
            raise
    folder.forget_run()
    return send(tracker, folder)


def _find_or_create(tracker: Tracker, folder: TrialFolder, started: int) -> str:
    """The run of a trial; one that was created just before a crash is recognised by the time of the first event."""
    trial = folder.trial()
    same = sorted(known.run for known in tracker.runs_of(trial.id) if known.started == started)
    run = same[0] if same else _create(tracker, trial, started)
    folder.mark_sent(run=run, store=shown(tracker.uri))
    return run


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
    name = f"{trial.variant} · {trial.dataset} · seed {trial.seed}"
    return tracker.create(started, tags, name)


def _start(tracker: Tracker, run: str, folder: TrialFolder, event: Event) -> None:
    """Record that the trial runs, for the first time or again, under this invocation."""
    tracker.client.update_run(run, status="RUNNING")
    tracker.client.set_tag(run, "message", "")  # of an earlier attempt
    tags = {"state": TrialState.RUNNING.value, "device": event["device"], "mlflow.parentRunId": tracker.invocation}
    if jobs := _jobs(folder):
        tags["jobs"] = jobs
    for name, value in tags.items():
        tracker.client.set_tag(run, name, value)
    tracker.client.log_artifacts(run, str(folder.artifacts))
    if not folder.sent().get("described"):
        trial = folder.trial()
        _describe(tracker, run, {**trial.settings, "variant": trial.variant, **event["described"]})
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


def _describe(tracker: Tracker, run: str, settings: dict[str, Any]) -> None:
    """Send the parameters, which MLflow accepts only once."""
    from mlflow.entities import Param

    params = [Param(FORBIDDEN.sub("_", name), str(value)[:LONGEST]) for name, value in settings.items()]
    for begin in range(0, len(params), PARAMS):
        tracker.client.log_batch(run, params=params[begin : begin + PARAMS])


def _end(tracker: Tracker, run: str, folder: TrialFolder, event: Event) -> None:
    """Send the end of a trial; the state comes last, so that a reader who sees it finds everything else."""
    trial = folder.trial()
    tracker.client.set_tag(run, "message", portable(event["message"])[:LONGEST])
    if trained := curve(folder.events()[0]):
        tracker.client.set_tag(run, "curve", trained)
    tracker.client.log_artifacts(run, str(folder.artifacts))
    if folder.log.is_file() and folder.log.stat().st_size:
        tracker.client.log_text(run, portable(folder.log.read_text(errors="replace")), folder.log.name)
    if event["state"] == TrialState.FINISHED and not tracker.claim_result(trial.id, run):
        tracker.discard(run)  # another invocation has sent the same result
        return
    tracker.client.set_tag(run, "state", event["state"])
    tracker.client.set_terminated(run, STATUS[event["state"]], event["time"])
