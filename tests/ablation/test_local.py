"""A trial in a process of this machine: how its job says that it has ended."""

import signal
import time

import pytest
import torch

from gredkit.ablation.launchers.base import Lost
from gredkit.ablation.launchers.forking.process import _how
from gredkit.ablation.launchers.local import Local
from gredkit.ablation.plan import make_plan
from gredkit.config.source import Source
from gredkit.trials.folder import TrialFolder
from gredkit.trials.state import TrialState

TINY = "SEEDS = (0,)\nLAYERS = 1\nDIM = 8\ndatasets.ring_transfer.graphs = 20\nEPOCHS = {}\n"
LONG, SHORT = 100_000, 2
SOON = 120.0  # seconds; a test that waits so long has failed


@pytest.fixture
def started(tmp_path, monkeypatch):
    """Start a trial of so many epochs: the launcher, its job and the folder."""
    monkeypatch.chdir(tmp_path)

    def start(epochs):
        (tmp_path / "tiny.gin").write_text(TINY.format(epochs))
        (trial,) = make_plan(Source(("tiny.gin",))).trials
        folder = TrialFolder(tmp_path / trial.id)
        folder.create(trial)
        launcher = Local(2)
        return launcher, launcher.start(folder.path), folder

    return start


def end_of(launcher, job):
    end = time.monotonic() + SOON
    while (ended := job.ended()) is None:
        assert time.monotonic() < end
        launcher.wait(1.0)
    return ended


def wait_for_epochs(launcher, folder):
    end = time.monotonic() + SOON
    while not folder.epochs():
        assert time.monotonic() < end
        launcher.wait(0.05)


def test_a_trial_ends_with_its_state(started):
    launcher, job, folder = started(SHORT)
    assert end_of(launcher, job) == (TrialState.FINISHED, "")
    assert len(folder.epochs()) == SHORT
    assert launcher.threads == max(torch.get_num_threads() // 2, 1)


def test_one_that_is_asked_to_stop_stops_after_an_epoch_and_one_that_is_killed_cannot_say_so(started):
    launcher, job, folder = started(LONG)
    wait_for_epochs(launcher, folder)
    assert job.ended() is None
    job.stop()
    state, _ = end_of(launcher, job)
    assert state == TrialState.INTERRUPTED
    before = len(folder.epochs())
    job = launcher.start(folder.path)  # in the place of the first one, and from its checkpoint
    wait_for = time.monotonic() + SOON
    while len(folder.epochs()) == before:
        assert time.monotonic() < wait_for
        launcher.wait(0.05)
    job.kill()
    assert end_of(launcher, job) == (Lost.KILLED, "it was stopped at once, as asked")


@pytest.mark.parametrize(
    ("code", "said"),
    [
        (3, "its process ended with code 3"),
        (255, "its process was ended, and so was the server that would know how"),
        (-signal.SIGSEGV, "its process was ended by SIGSEGV"),
    ],
)
def test_how_a_process_ended_that_said_nothing(code, said):
    assert _how(code) == said


def test_a_process_that_the_system_killed_may_have_had_too_little_memory():
    assert _how(-signal.SIGKILL).startswith("its process was ended by SIGKILL: the system may have run out of its ")
