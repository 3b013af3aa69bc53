"""Who is killed in a bad moment, or finds damaged files, goes on: nothing is lost, and nothing is told twice."""

import signal

import pytest
from helpers.forked import IMPORTING_SERVER
from helpers.once import assert_everything_once, trained
from helpers.studies import LONG_HALF, TRIALS, WITHOUT_AXES, TinyStudy, assert_same_scores, fork_servers, interrupt


@pytest.mark.parametrize("begun", [0, 1, 2])  # trials: while the server imports, or with a trial that it has started
def test_a_fork_server_that_is_killed_is_started_again_and_no_trial_notices(undisturbed, tmp_path, monkeypatch, begun):
    if not begun:
        monkeypatch.setenv(IMPORTING_SERVER, "1")
    study = TinyStudy(tmp_path)
    process = study.start(*LONG_HALF)
    study.wait_for(process, lambda: bool(fork_servers(process)))
    study.wait_for(process, lambda: process.printed().count(": running") >= begun)
    (server,) = fork_servers(process)
    server.kill()
    out, err = process.communicate(timeout=300)
    assert process.returncode == 0, out + err
    assert err == ""
    assert_same_scores(study, undisturbed, TRIALS // 2)
    assert_everything_once(study, 40, TRIALS // 2)


MORTAL = """
import os
import signal
from pathlib import Path

from gredkit.trials.folder import TrialFolder

append, mark_sent = TrialFolder.append, TrialFolder.mark_sent


def die(moment):
    if Path(moment).exists():
        Path(moment).unlink()
        os.kill(os.getpid(), signal.SIGKILL)


def mortal_append(self, event, **values):
    append(self, event, **values)
    die(event)


def mortal_mark_sent(self, **values):
    die("done" if values.get("done") else "created" if "store" in values else "never")
    mark_sent(self, **values)


TrialFolder.append, TrialFolder.mark_sent = mortal_append, mortal_mark_sent
"""


@pytest.mark.parametrize("moment", ["result", "ended", "created", "done"])
def test_who_dies_before_the_next_line_is_written_doubles_nothing(moment, tmp_path):
    """A worker right after it wrote an event; the command after MLflow's answer, before it wrote down that it came."""
    study = TinyStudy(tmp_path, WITHOUT_AXES)
    (tmp_path / "mortal.py").write_text(MORTAL)
    (tmp_path / moment).touch()
    first = study.run("--import", "mortal")
    assert not (tmp_path / moment).exists()  # it has died
    assert "Traceback" not in first.stderr
    assert first.returncode == (0 if moment in ("result", "ended") else -signal.SIGKILL), first.stdout
    again = study.run("--import", "mortal")
    assert again.returncode == 0, again.stdout + again.stderr
    assert_everything_once(study, 3, 2)
    assert set(trained(study).values()) == {1}


def test_damaged_files_are_set_aside_with_a_sentence_and_the_study_goes_on(undisturbed, tmp_path):
    study = TinyStudy(tmp_path)
    process = study.start(*LONG_HALF, "--jobs", "2")
    study.wait_for(process, lambda: sum('"epoch": 2' in line for line in study.events()) >= 2)  # of both
    interrupt(process)
    process.communicate(timeout=60)
    events, sent = sorted(tmp_path.glob(".gredkit/tiny/*/events.jsonl"))[:2], tmp_path.glob(".gredkit/tiny/*/sent.json")
    lines = events[0].read_bytes().splitlines(keepends=True)
    events[0].write_bytes(b"".join([lines[0], b"\xff\xfe{}\n", *lines[1:]]))
    next(sent).write_text("")
    (events[1].parent / "trial.json").write_text("[1, 2]")
    (tmp_path / ".gredkit/tiny.lock").write_bytes(b"\x00\xff")
    result = study.run(*LONG_HALF)
    assert result.returncode == 0, result.stdout + result.stderr
    assert result.stderr == ""
    for name in ("events.jsonl", "sent.json", "trial.json"):
        assert f"{name} was damaged: that part is kept as {name}.damaged" in result.stdout
    assert_same_scores(study, undisturbed, TRIALS // 2)
    assert_everything_once(study, 40, TRIALS // 2)


def test_a_command_that_fails_leaves_no_run_open(tmp_path):
    study = TinyStudy(tmp_path, WITHOUT_AXES)
    (tmp_path / ".gredkit").mkdir()
    (tmp_path / ".gredkit/tiny").write_text("a file where a folder should be")
    result = study.run()
    assert result.returncode != 0
    assert "Traceback" not in result.stderr
    assert "RUNNING" not in study.statuses()
