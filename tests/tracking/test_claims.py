"""Invocations that share a store train every trial once, whoever is faster, and take over what the dead have left."""

import os
import re
import signal
import socket
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest
from helpers.mlflow_server import MlflowServer
from helpers.once import assert_everything_once, trained
from helpers.studies import TRIALS, TinyStudy, empty_store

from gredkit.tracking.claims import Claims
from gredkit.tracking.tracker import Tracker

EPOCHS = 30
LONG = ("--set", f"EPOCHS={EPOCHS}", "--set", "ENCODERS=('lru',)")
MANY = 6


@contextmanager
def shared_store(kind, folder):
    """The address of a store for several folders."""
    if kind == "server":
        server = MlflowServer(folder)
        try:
            yield server.uri
        finally:
            server.stop()
    else:
        (folder / "shared.db").write_bytes(empty_store())
        yield f"sqlite:///{folder / 'shared.db'}"


def at_once(functions):
    with ThreadPoolExecutor(len(functions)) as pool:
        return [future.result() for future in [pool.submit(function) for function in functions]]


@pytest.mark.parametrize("kind", ["sqlite", "server"])
def test_of_many_who_claim_the_same_at_once_one_gets_it(kind, tmp_path):
    with shared_store(kind, tmp_path) as uri:
        runs = [Tracker("tiny", uri) for _ in range(MANY)]
        claims = at_once([lambda one=one: Claims(one) for one in runs])
        assert len({one._run for one in claims}) == 1  # all agree where claims are kept
        owners = at_once([lambda i=i: claims[i].take("it", str(i), lambda other: True) for i in range(MANY)])
        assert len(set(owners)) == 1
        (dead,) = set(owners)
        heirs = [i for i in range(MANY) if str(i) != dead]
        owners = at_once([lambda i=i: claims[i].take("it", str(i), lambda other: other != dead) for i in heirs])
        assert len(set(owners)) == 1
        assert dead not in owners
        assert claims[0].take("third", "me", lambda other: True) == "me"
        assert claims[1].take("third", "you", lambda other: True) == "me"


def test_who_lost_a_claim_does_not_get_it_back_by_claiming_once_more(tmp_path):
    with shared_store("sqlite", tmp_path) as uri:
        claims = Claims(Tracker("tiny", uri))
        assert claims.take("it", "paused", lambda other: True) == "paused"
        assert claims.take("it", "paused", lambda other: False) == "paused"
        assert claims.take("it", "heir", lambda other: other != "paused") == "heir"
        assert claims.take("it", "paused", lambda other: True) == "heir"


def test_claims_that_others_have_are_read_once(tmp_path, monkeypatch):
    """A study has two claims for each trial, and MLflow gives all of them or none."""
    with shared_store("sqlite", tmp_path) as uri:
        first, second = Claims(Tracker("tiny", uri)), Claims(Tracker("tiny", uri))
        for nth in range(5):
            assert first.take(f"trial {nth}", "first", lambda other: True) == "first"
        client, read = second._runs.client, []
        asked = client.get_run

        def get_run(run):
            read.append(run)
            return asked(run)

        monkeypatch.setattr(client, "get_run", get_run, raising=False)
        owners = [second.take(f"trial {nth}", "second", lambda other: False) for nth in range(5)]
        assert owners == ["second"] * 5
        assert len(read) == 1
        assert [first.take(f"trial {nth}", "first", lambda other: True) for nth in range(5)] == ["second"] * 5


@pytest.mark.parametrize("kind", ["sqlite", "server"])
def test_two_folders_that_start_together_train_every_trial_once(kind, tmp_path):
    with shared_store(kind, tmp_path) as uri:
        studies = [TinyStudy(tmp_path / name, has_store=False) for name in ("one", "two")]
        for study in studies:
            study.uri = uri
        running = [study.start(*LONG, "--tracking-uri", uri) for study in studies]
        for process in running:
            out, err = process.communicate(timeout=300)
            assert "Traceback" not in err, err
            assert process.returncode in (0, 1), err
            said = re.search(rf"trained elsewhere: process (\d+) on {re.escape(socket.gethostname())} trains it", out)
            assert (process.returncode == 1) == (said is not None), out
        assert trained(studies[0]) == dict.fromkeys(studies[0].trials(), 1)
        again = studies[0].run(*LONG, "--tracking-uri", uri)
        assert again.returncode == 0, again.stderr
        assert f"{TRIALS // 2} finished before" in again.stdout
        for study in studies:
            assert_everything_once(study, EPOCHS, TRIALS // 2)


def test_what_a_killed_invocation_had_claimed_another_takes_over(tmp_path):
    with shared_store("sqlite", tmp_path) as uri:
        one, two = (TinyStudy(tmp_path / name, has_store=False) for name in ("one", "two"))
        one.uri = two.uri = uri
        longer = ("--set", "EPOCHS=100", "--tracking-uri", uri)
        first = one.start(*longer)
        one.wait_for_epochs(first, 3)
        second = two.start(*longer)
        two.wait_for_epochs(second, 3)
        assert set(trained(two).values()) == {1}  # each has others
        os.kill(first.pid, signal.SIGKILL)
        first.communicate()
        _, err = second.communicate(timeout=300)
        assert second.returncode == 0, err
        assert {known.state for known in two.trials().values()} == {"finished"}
        begun = trained(two)
        assert len(begun) == TRIALS
        assert sum(begun.values()) <= TRIALS + 1  # only what was killed was begun again
        result = one.run(*longer)
        assert result.returncode == 0, result.stderr
        assert (
            sum(run.data.tags["state"] == "finished" for run in one.tracker().search("tags.kind = 'trial'")) == TRIALS
        )
