"""How far a trial is, read from the events in its folder."""

import pytest

from gredkit.ablation import progress
from gredkit.ablation.progress import TrialProgress, duration
from gredkit.config.source import Source
from gredkit.trials.folder import TrialFolder
from gredkit.trials.state import TrialState
from gredkit.trials.trial import Trial

TRIAL = Trial("tiny", "lru", "ring_transfer", 0, Source(()), id="abc", settings={"fit.epochs": 10})


@pytest.fixture
def folder(tmp_path):
    folder = TrialFolder(tmp_path / "abc")
    folder.create(TRIAL)
    return folder


@pytest.fixture
def clock(monkeypatch):
    """Seconds that pass only when a test says so."""

    class Clock:
        now = 1000.0

        def monotonic(self):
            return self.now

    clock = Clock()
    monkeypatch.setattr(progress, "time", clock)
    return clock


def epoch(folder, number, validation):
    folder.append("epoch", epoch=number, train_loss=1.0, validation=validation)


def test_a_trial_is_read_step_by_step(folder):
    one = TrialProgress(TRIAL)
    one.start(folder)
    assert (one.state, one.epoch, one.score) == (TrialState.RUNNING, 0, None)
    epoch(folder, 0, 0.25)
    epoch(folder, 1, 0.5)
    assert [event["epoch"] for event in one.read(folder)] == [0, 1]
    assert (one.epoch, one.score, one.test) == (2, 0.5, None)
    assert one.read(folder) == []  # nothing is read twice
    folder.append("result", validation=0.75, test=0.625)
    folder.append("ended", state="finished", message="")
    one.read(folder)
    assert (one.validation, one.test, one.score) == (0.75, 0.625, 0.625)
    assert one.said == (TrialState.FINISHED, "")


def test_what_an_earlier_attempt_said_at_its_end_is_not_said_by_this_one(folder):
    epoch(folder, 0, 0.25)
    folder.append("ended", state="interrupted", message="stopped")
    one = TrialProgress(TRIAL, message="of before")
    one.start(folder)
    assert (one.said, one.message, one.begun_at, one.epoch) == (None, "", 1, 1)


def test_time_left_is_at_the_pace_of_this_attempt(folder, clock):
    for number in range(4):
        epoch(folder, number, 0.5)  # of an attempt long ago
    one = TrialProgress(TRIAL)
    one.start(folder)
    clock.now += 30
    assert one.seconds_left() is None  # no epoch yet
    epoch(folder, 4, 0.5)
    epoch(folder, 5, 0.5)
    one.read(folder)
    assert one.seconds_left() == 60  # two epochs in 30 seconds, four to come
    clock.now += 12
    one.end(TrialState.INTERRUPTED, "stopped")
    assert one.seconds_left() is None
    assert one.took == 42


def test_a_trial_of_an_earlier_invocation_has_the_scores_that_mlflow_has():
    one = TrialProgress(TRIAL)
    one.found(TrialState.FINISHED, {"best/validation": 0.5, "best/test": 0.25, "best/epoch": 3})
    assert (one.validation, one.test, one.score) == (0.5, 0.25, 0.25)
    one.found(TrialState.FAILED, {}, "out of memory")
    assert (one.validation, one.test, one.score, one.message) == (None, None, None, "out of memory")


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(0.4, "0 s"), (59, "59 s"), (60, "1 min"), (5900, "98 min"), (6000, "1 h 40 min"), (7260, "2 h 01 min")],
)
def test_a_duration_is_short(seconds, said):
    assert duration(seconds) == said
