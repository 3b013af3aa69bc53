"""Trials are sent while others cannot be."""

import time

import pytest
from helpers.simulated import Clock

from gredkit.tracking import forwarder
from gredkit.tracking.forwarder import Forwarder
from gredkit.tracking.store import StoreError
from gredkit.trials.folder import TrialFolder


class Beating:
    """A tracker whose store answers; which trials it takes, a test says."""

    def beat(self):
        pass


@pytest.fixture
def sent(monkeypatch):
    """The trials that are sent, by name; one that is called bad never gets an answer, as if it broke the server."""
    found = []

    def send(tracker, folder):
        if folder.path.name == "bad":
            raise StoreError("the server has an internal error", refused=False)
        found.append(folder.path.name)
        return True

    monkeypatch.setattr(forwarder, "send_anew", send)
    monkeypatch.setattr(forwarder, "EVERY", 0.001)
    return found


def wait_for(holds):
    until = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < until
        time.sleep(0.001)


def test_a_trial_that_cannot_be_sent_does_not_hold_up_the_others(sent, tmp_path):
    said: list[str] = []
    sending = Forwarder(Beating(), said.append)
    for name in ("bad", "one", "two", "three"):
        sending.watch(TrialFolder(tmp_path / name))
        sending.ended(TrialFolder(tmp_path / name))
    wait_for(lambda: {"one", "two", "three"} <= set(sent))
    wait_for(lambda: sending.flush(0.0) == 1)
    assert sending.close(0.1) == 1
    assert "training continues" in said[0]


def test_all_that_run_are_looked_at_in_turn(sent, tmp_path):
    sending = Forwarder(Beating(), print)
    names = {str(nth) for nth in range(3 * forwarder.FEW)}
    for name in names:
        sending.watch(TrialFolder(tmp_path / name))
    wait_for(lambda: names <= set(sent))
    assert sending.close(0.1) == 0


def test_a_slow_store_is_waited_for_while_it_gets_on(sent, tmp_path, monkeypatch):
    clock = Clock()
    monkeypatch.setattr(forwarder, "time", clock)
    monkeypatch.setattr(forwarder, "threading", clock)
    monkeypatch.setattr(forwarder, "send_anew", lambda tracker, folder: clock.sleep(40) or True)
    sending = Forwarder(Beating(), print)
    for nth in range(10):
        sending.watch(TrialFolder(tmp_path / str(nth)))
        sending.ended(TrialFolder(tmp_path / str(nth)))
    assert sending.flush(30) == 10
    assert sending.close(60) == 0
    assert clock.now > 400
