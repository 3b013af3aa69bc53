"""A study whose MLflow server is behind a connection that loses, cuts, delays and refuses."""

import random
import time
from collections import Counter

import pytest
from helpers.mlflow_server import MlflowServer
from helpers.proxy import FAULTS, Proxy
from helpers.studies import WITHOUT_AXES, TinyStudy

from gredkit.tracking.tracker import Tracker

EPOCHS, TRIALS = 3, 2


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    server = MlflowServer(tmp_path_factory.mktemp("server"))
    yield server
    server.stop()


@pytest.fixture(scope="module")
def undisturbed(server, tmp_path_factory):
    """What the trials find, and in how many seconds."""
    began = time.monotonic()
    scores = run_and_check(server, server.uri, tmp_path_factory.mktemp("undisturbed"), "undisturbed")
    return scores, time.monotonic() - began


def faults(seed):
    """Every fourth answer cut, then every eighth withheld; from then on, anything by chance."""
    if seed < 2:
        fault, every = (("cut", 4), ("hang", 8))[seed]
        return lambda number: fault if number % every == every - 1 else None
    chance = random.Random(seed)
    return lambda number: chance.choice(FAULTS) if chance.random() < 0.25 else None


@pytest.mark.rounds(short=3, long=40)
def test_each_trial_is_in_mlflow_once_with_the_same_scores(seed, server, undisturbed, tmp_path, count):
    scores, seconds = undisturbed
    proxy = Proxy(server.port, faults(seed))
    began = time.monotonic()
    try:
        assert run_and_check(server, proxy.uri, tmp_path, f"behind proxy {seed}") == scores
    finally:
        proxy.close()
        count("requests to MLflow through a bad connection", proxy.requests)
        for fault, times in proxy.disturbed.items():
            count(f"requests to MLflow disturbed: {fault}", times)
        count("seconds of studies behind a bad connection", round(time.monotonic() - began))
        count("seconds of the same studies without", round(seconds))


def run_and_check(server, uri, folder, name):
    """Run the study at an address; what the server itself then has of it."""
    study = TinyStudy(folder, WITHOUT_AXES, has_store=False)
    result = study.run("--tracking-uri", uri, "--set", f"study.name={name!r}", "--set", f"EPOCHS={EPOCHS}")
    assert result.returncode == 0, result.stdout + result.stderr
    tracker = Tracker(name, server.uri)
    runs = tracker.search("tags.kind = 'trial'")
    assert Counter(run.data.tags["trial_id"] for run in runs).most_common(1)[0][1] == 1
    assert [(run.data.tags["state"], run.info.status) for run in runs] == [("finished", "FINISHED")] * TRIALS
    assert [run.info.status for run in tracker.search("tags.kind = 'study'")] == ["FINISHED"]
    found = {}
    for run in runs:
        history = tracker.client.get_metric_history(run.info.run_id, "train/loss")
        assert sorted(point.step for point in history) == list(range(EPOCHS))
        files = {file.path for file in tracker.client.list_artifacts(run.info.run_id)}
        assert {"config.gin", "environment.json", "model"} <= files
        found[run.data.tags["trial_id"]] = [run.data.metrics[name] for name in ("best/test", "best/validation")]
        found[run.data.tags["trial_id"]] += [point.value for point in sorted(history, key=lambda point: point.step)]
    assert not list(folder.glob(".gredkit/*/*/trial.json"))
    return found
