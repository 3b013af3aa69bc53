"""Which trials are trained, and what becomes of them, on a real store and with a launcher in this process."""

import io
import os
import signal

import pytest
from helpers.here import Here
from helpers.studies import empty_store
from rich.console import Console

from gredkit.ablation.launchers.base import Lost, Refused
from gredkit.ablation.progress import TrialProgress
from gredkit.ablation.runner import Runner, folder_of, sort_out
from gredkit.ablation.screen import Screen
from gredkit.config.source import Source
from gredkit.tracking.forwarder import Forwarder
from gredkit.tracking.tracker import Tracker
from gredkit.trials.state import TrialState
from gredkit.trials.trial import Trial

SETTINGS = {"fit.epochs": 2, "K": 1}


def trial(name, **changed):
    return Trial("tiny", "lru", "rings", 0, Source(()), id=name, settings=SETTINGS, metric="accuracy", **changed)


def finish(folder):
    folder.append("started", device="cpu", described={})
    folder.append("result", validation=0.5, test=0.25)
    folder.append("ended", state="finished", message="")
    return TrialState.FINISHED, ""


def fail(folder):
    folder.append("ended", state="failed", message="a mistake")
    return TrialState.FAILED, "a mistake"


def refuse(folder):
    raise Refused("no job is accepted")


def die_after_the_result(folder):
    folder.append("started", device="cpu", described={})
    folder.append("result", validation=0.5, test=0.25)
    return Lost.KILLED, "its process was ended by SIGKILL"


def interrupt(folder):
    os.kill(os.getpid(), signal.SIGINT)
    return TrialState.INTERRUPTED, "stopped"


@pytest.fixture
def tracker(tmp_path):
    (tmp_path / "mlflow.db").write_bytes(empty_store())
    tracker = Tracker("tiny", f"sqlite:///{tmp_path / 'mlflow.db'}")
    tracker.begin("a test", [])
    return tracker


@pytest.fixture
def train(tracker, tmp_path):
    """Train trials that do what they are told, and give the runner, the launcher and how each trial ended."""

    def run(does, retry=False, jobs=1):
        launcher, forwarder = Here(does, jobs), Forwarder(tracker, print)
        runner = Runner(launcher, tracker, forwarder, tmp_path / "work")
        planned = sort_out([trial(name) for name in does], tracker, retry, {})
        console = Console(file=io.StringIO())
        try:
            with Screen(console, planned, jobs) as screen:
                runner.run(planned, screen)
        finally:
            assert forwarder.close(60) == 0
        return runner, launcher, {one.trial.id: one for one in planned}

    return run


def known(tracker, name, state, parent="", **metrics):
    """A run in the store."""
    tags = {"kind": "trial", "trial_id": name, "state": state, "mlflow.parentRunId": parent, "variant": "old"}
    run = tracker.create(0, tags, name)
    for key, value in metrics.items():
        tracker.client.log_metric(run, f"best/{key}", value)
    if state != "running":
        tracker.client.set_terminated(run, "FINISHED" if state == "finished" else "FAILED")
    return run


def test_what_is_done_with_each_trial_depends_on_its_state_in_the_store(tracker):
    for name in ("finished", "diverged", "failed", "interrupted"):
        known(tracker, name, name, **({"validation": 0.5, "test": 0.25} if name == "finished" else {}))
    known(tracker, "running", "running", tracker.invocation)
    names = ["new", "finished", "diverged", "failed", "interrupted", "running"]
    found = sort_out([trial(name) for name in names], tracker, False, {})
    assert [one.trial.id for one in found] == names
    assert {one.trial.id: str(one.state) for one in found} == {
        "new": "waiting",
        "finished": "finished",
        "diverged": "diverged",
        "failed": "failed",
        "interrupted": "waiting",
        "running": "elsewhere",
    }
    finished, running = found[1], found[-1]
    assert (finished.validation, finished.test, finished.score) == (0.5, 0.25, 0.25)
    assert running.message == f"process {os.getpid()} on {os.uname().nodename} trains it"


def test_retry_trains_what_failed_or_diverged_and_nothing_else(tracker):
    runs = {name: known(tracker, name, name) for name in ("finished", "diverged", "failed")}
    found = {one.trial.id: one for one in sort_out([trial(name) for name in runs], tracker, True, {})}
    assert {name: str(one.state) for name, one in found.items()} == {
        "finished": "finished",
        "diverged": "waiting",
        "failed": "waiting",
    }
    assert {name: one.retried for name, one in found.items()} == {**runs, "finished": ""}


def test_a_trial_that_this_invocation_has_trained_is_not_trained_again(tracker):
    done = TrialProgress(trial("one"), TrialState.FAILED, "a mistake", validation=0.5, test=0.25, took=3.0)
    (one,) = sort_out([trial("one", role="final")], tracker, True, {"one": done})
    assert (one.state, one.message, one.validation, one.score, one.took) == (
        TrialState.FAILED,
        "a mistake",
        0.5,
        0.25,
        3.0,
    )
    assert one.retried == ""


def test_a_run_gets_the_names_that_its_trial_has_now(tracker):
    known(tracker, "one", "finished")
    sort_out([trial("one")], tracker, False, {})
    tags = tracker.trials()["one"].tags
    assert (tags["variant"], tags["dataset"], tags["role"]) == ("lru", "rings", "final")


def test_trials_end_as_they_say_and_their_folders_go(train, tracker, tmp_path):
    runner, launcher, ended = train({"good": finish, "bad": fail})
    assert launcher.started == ["good", "bad"]
    assert {name: (str(one.state), one.message) for name, one in ended.items()} == {
        "good": ("finished", ""),
        "bad": ("failed", "a mistake"),
    }
    assert (ended["good"].validation, ended["good"].test) == (0.5, 0.25)
    assert not runner.was_interrupted
    assert {name: str(one.state) for name, one in tracker.trials().items()} == {"good": "finished", "bad": "failed"}
    assert not [path for path in (tmp_path / "work/tiny").iterdir() if path.is_dir()]


@pytest.mark.parametrize(
    ("how", "state"),
    [
        ((Lost.KILLED, "its process was ended by SIGKILL"), TrialState.INTERRUPTED),
        ((Lost.DIED, "its process ended with code 3"), TrialState.FAILED),
    ],
)
def test_who_ended_a_lost_process_decides_whether_its_trial_may_continue(train, how, state):
    _, _, ended = train({"one": lambda folder: how})
    assert (ended["one"].state, ended["one"].message) == (state, how[1])


def test_a_process_that_is_killed_after_its_result_has_finished(train):
    _, _, ended = train({"one": die_after_the_result})
    assert (ended["one"].state, ended["one"].message, ended["one"].test) == (TrialState.FINISHED, "", 0.25)


def test_after_a_refusal_nothing_more_is_started(train):
    runner, launcher, ended = train({"one": refuse, "two": finish})
    assert launcher.started == ["one"]
    assert str(runner.refusal) == "no job is accepted"
    assert (ended["one"].state, ended["two"].state) == (TrialState.INTERRUPTED, TrialState.WAITING)


def test_after_ctrl_c_nothing_more_is_started(train):
    before = signal.getsignal(signal.SIGINT)
    runner, launcher, ended = train({"one": interrupt, "two": finish})
    assert launcher.started == ["one"]
    assert runner.was_interrupted
    assert not runner.is_impatient
    assert (ended["one"].state, ended["two"].state) == (TrialState.INTERRUPTED, TrialState.WAITING)
    assert signal.getsignal(signal.SIGINT) is before


def test_a_trial_that_was_finished_in_the_meantime_is_not_started(train, tracker):
    def finish_another(folder):
        known(tracker, "two", "finished", test=0.75)
        return finish(folder)

    _, launcher, ended = train({"one": finish_another, "two": fail})
    assert launcher.started == ["one"]
    assert (ended["two"].state, ended["two"].test) == (TrialState.FINISHED, 0.75)


def test_a_retried_trial_gets_a_new_run_in_the_place_of_the_old_one(train, tracker):
    old = known(tracker, "one", "failed")
    _, _, ended = train({"one": finish}, retry=True)
    assert ended["one"].state == TrialState.FINISHED
    (run,) = tracker.runs_of("one")
    assert run.run != old


def test_a_folder_that_cannot_be_written_leaves_its_trial_for_later(train, tmp_path):
    (tmp_path / "work/tiny").mkdir(parents=True)
    folder_of(tmp_path / "work", trial("one")).path.write_text("a file where a folder should be")
    _, launcher, ended = train({"one": finish, "two": finish})
    assert launcher.started == ["two"]
    assert ended["one"].state == TrialState.INTERRUPTED
    assert "work/tiny/one" in ended["one"].message
