"""What a job of the cluster does when its time is over, and while another process still has its trial."""

import os
import signal
import stat
import sys
import time

import pytest
import torch
from filelock import FileLock

from gredkit.ablation import worker
from gredkit.ablation.launchers.cluster import shared
from gredkit.ablation.launchers.cluster.shared import STOP, until_free
from gredkit.ablation.launchers.cluster.work import Limit, work
from gredkit.ablation.launchers.forking.server import INTERRUPTS
from gredkit.ablation.plan import make_plan
from gredkit.config.source import Source
from gredkit.trials.folder import TrialFolder
from gredkit.trials.state import TrialState

TINY = (
    "SEEDS = (0,)\nEPOCHS = 4\nLAYERS = 1\nDIM = 8\nfit.checkpoint_seconds = 0.0\ndatasets.ring_transfer.graphs = 20\n"
)


@pytest.fixture(autouse=True)
def _as_before(monkeypatch):
    """Afterwards signals and threads are as before; no job of SLURM is around."""
    before = {number: signal.getsignal(number) for number in (*INTERRUPTS, signal.SIGUSR2, signal.SIGTERM)}
    threads = torch.get_num_threads()
    monkeypatch.delenv("SLURM_JOB_END_TIME", raising=False)
    monkeypatch.setenv("SLURM_JOB_ID", "12")
    yield
    torch.set_num_threads(threads)
    for number, handler in before.items():
        signal.signal(number, handler)


def test_far_from_the_limit_training_goes_on():
    one = Limit(1.0)
    assert not one.ends_here()
    assert not one.is_near


def test_the_warning_of_slurm_ends_it_after_the_epoch_and_the_job_starts_again():
    one = Limit(1.0)
    os.kill(os.getpid(), signal.SIGUSR2)
    assert one.is_near
    assert one.ends_here()


def test_when_slurm_takes_the_machine_away_it_decides_itself_about_a_new_start():
    one = Limit(1.0)
    os.kill(os.getpid(), signal.SIGTERM)
    assert one.ends_here()
    assert not one.is_near


def test_no_epoch_begins_that_would_not_end_in_time(monkeypatch):
    monkeypatch.setenv("SLURM_JOB_END_TIME", str(int(time.time()) + 600))
    one = Limit(1000.0)  # what SLURM says counts
    assert not one.ends_here()
    one._before -= 500  # an epoch that took so long
    assert one.ends_here()
    assert one.is_near


@pytest.fixture
def job(tmp_path, monkeypatch):
    """The folder of a tiny trial, and a function that trains it as a job does: returns how it ended, each time."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tiny.gin").write_text(TINY)
    (trial,) = make_plan(Source(("tiny.gin",))).trials
    folder = TrialFolder(tmp_path / trial.id)
    folder.create(trial)
    program = tmp_path / "scontrol"
    program.write_text(f'#!/bin/sh\necho "$@" >> {tmp_path}/asked\n')
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")

    def train(hours):
        work(str(folder.path), list(sys.path), 1, 1, hours)
        return [event["state"] for event in folder.events()[0] if event["event"] == "ended"]

    return folder, train


def test_a_job_trains_its_trial_and_one_without_time_goes_back_into_the_queue(job, tmp_path):
    folder, train = job
    assert train(hours=0) == [TrialState.INTERRUPTED]  # the first epoch is trained in any case
    assert len(folder.epochs()) == 1
    assert (tmp_path / "asked").read_text() == "requeue 12\n"
    assert train(hours=1)[-1] == TrialState.FINISHED
    assert len(folder.epochs()) == 4
    assert (tmp_path / "asked").read_text() == "requeue 12\n"


def test_a_job_that_is_asked_to_stop_does_not_start_again(job, tmp_path):
    folder, train = job
    (folder.path / STOP).touch()
    assert train(hours=0) == [TrialState.INTERRUPTED]
    assert len(folder.epochs()) == 1
    assert not (tmp_path / "asked").exists()


def test_a_trial_whose_last_process_is_still_there_is_tried_until_it_has_gone(job, monkeypatch):
    folder, train = job
    monkeypatch.setattr(worker, "WAIT", 0.05)
    lock = FileLock(folder.lock)
    lock.acquire()
    refused: list[bool] = []

    def attempt(*arguments):
        ended = worker_attempt(*arguments)
        refused.append(ended[0] == TrialState.ELSEWHERE)
        if len(refused) == 2:
            lock.release()
        return ended

    worker_attempt = worker.attempt
    monkeypatch.setattr(worker, "attempt", attempt)
    assert train(hours=1) == [TrialState.FINISHED]
    assert refused == [True, True, False]


@pytest.mark.parametrize("why", ["it is asked to stop", "nobody lets go"])
def test_it_is_not_tried_for_ever(why, monkeypatch):
    if why == "nobody lets go":
        monkeypatch.setattr(shared, "LOCKED", 0.0)
    attempts = iter([(TrialState.ELSEWHERE, "another process trains it")])
    assert until_free(lambda: next(attempts), lambda: why == "it is asked to stop")[0] == TrialState.ELSEWHERE
