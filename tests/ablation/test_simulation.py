"""The real driver with many trials, many workers, failures and a slow store, in simulated time.

`--long` has 10,000 trials on 512 workers.
"""

import io
import os
import random
import tracemalloc
from collections import Counter
from pathlib import Path
from resource import RUSAGE_SELF, getrusage

import pytest
from helpers.simulated import Clock, Store, Workers, score_of
from rich.console import Console

from gredkit.ablation import invocation
from gredkit.ablation.invocation import Options, run_study
from gredkit.ablation.plan import Plan
from gredkit.ablation.runner import FEW, TICK
from gredkit.config.source import Source
from gredkit.tracking import tracker
from gredkit.tracking.forwarder import FEW as AT_ONCE
from gredkit.tracking.store import Client
from gredkit.trials.folder import TrialFolder
from gredkit.trials.trial import Trial

SETTINGS = {"fit.epochs": 5, "K": 1, "model": "gred", "dataset": "rings"}
IN_TIME = (  # modules of the driver that ask what time it is
    *("tracking.asking", "tracking.forwarder", "tracking.runs", "tracking.tracker"),
    *("ablation.progress", "trials.folder"),
)
FATES = {  # what becomes of the attempts of a trial, and of how many trials
    ("preemption",): 0.05,
    ("preemption", "preemption", "error"): 0.01,
    ("error",): 0.02,
    ("death",): 0.02,
    ("late death",): 0.02,
    ("loss",): 0.03,
    ("loss", "preemption"): 0.01,
    (): 0.84,
}
OURS = tracemalloc.Filter(True, "*/gredkit/*")
FAILED = ("error", "death")


class Simulation:
    """A study of so many trials on so many workers, trained by one invocation after the other."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch, trials: int, jobs: int, minutes: float):
        chance = random.Random(2)
        described = {"settings": SETTINGS, "parameters": 9, "metric": "accuracy"}
        names = [f"{nth:05}" for nth in range(trials)]
        fates = dict(zip(names, chance.choices(list(FATES), list(FATES.values()), k=trials), strict=True))
        self.fates, self.folder, self.jobs = fates, folder, jobs
        self.plan = Plan(
            "many",
            Source(()),
            tuple(Trial("many", "lru", "rings", 0, Source(()), id=name, **described) for name in names),
        )
        self.clock = Clock()
        self.store = Store(self.clock, away=[(600, 1500)])
        self.workers = Workers(jobs, self.clock, self.fates, SETTINGS["fit.epochs"], minutes)
        self.reads: Counter[int] = Counter()
        monkeypatch.setattr(invocation, "make_plan", lambda source: self.plan)
        monkeypatch.setattr(invocation, "launcher_for", lambda *arguments: self.workers)
        monkeypatch.setattr(tracker, "connect", lambda uri: Client(self.store, uri))
        for module in IN_TIME:
            monkeypatch.setattr(f"gredkit.{module}.time", self.clock)
        monkeypatch.setattr("gredkit.tracking.forwarder.threading", self.clock)
        monkeypatch.setattr(os, "fsync", lambda file: None)
        monkeypatch.setattr(TrialFolder, "events", self._counted(TrialFolder.events))

    def _counted(self, events):
        def counted(folder, start=0):
            self.reads[int(self.clock.now)] += 1
            return events(folder, start)

        return counted

    def run(self):
        """One invocation."""
        options = Options("a test", tracking_uri="http://simulated", work=self.folder / "work", launcher="simulated")
        return run_study(Source(()), options, Console(file=io.StringIO(), width=200))


def most_per_second(counted, over=60):
    """The largest mean over so many seconds."""
    windows: Counter[int] = Counter()
    for second, count in counted.items():
        windows[second // over] += count
    return max(windows.values()) / over


def kept_by_the_driver():
    """Bytes that its lines have allocated and still hold."""
    return sum(one.size for one in tracemalloc.take_snapshot().filter_traces([OURS]).statistics("filename"))


@pytest.fixture
def simulation(tmp_path, monkeypatch, is_long):
    return Simulation(tmp_path, monkeypatch, *((10_000, 512, 20.0) if is_long else (500, 64, 3.0)))


def test_none_is_lost_none_is_trained_twice_and_the_driver_stays_small(simulation, is_long):
    workers, store, trials = simulation.workers, simulation.store, simulation.plan.trials
    kept: list[float] = []

    def look():
        """Measure what the driver has allocated since a fifth of the trials has ended, and not freed at four fifths."""
        ended = len(workers.results) / len(trials)
        if not kept and tracemalloc.is_tracing() and ended > 0.8:
            kept.append(kept_by_the_driver() / (0.6 * len(trials)))
            tracemalloc.stop()
        elif not kept and not tracemalloc.is_tracing() and ended > 0.2:
            tracemalloc.start()

    workers.looking = look
    ended = simulation.run()
    assert {str(one.state) for one in ended.trials} == {"finished", "failed", "interrupted"}
    assert simulation.run().unsent == 0  # what somebody ended from outside is trained by the next invocation

    runs = {id: store.runs(kind="trial", trial_id=id) for id in simulation.fates}
    assert {len(some) for some in runs.values()} == {1}
    for id, fates in simulation.fates.items():
        data, has_failed = runs[id][0].data, bool(fates) and fates[-1] in FAILED
        assert data.tags["state"] == ("failed" if has_failed else "finished"), id
        assert data.metrics.get("best/test") == (None if has_failed else score_of(id)), id
        assert workers.results.get(id, 0) == (0 if has_failed else 1), id
        assert workers.attempts[id] == len(fates) + (bool(fates) and fates[-1] in ("preemption", "loss")) + (not fates)
        epochs = sorted(point.step for point in data.history["validation/score"].values())
        assert epochs == list(range(workers.trained[id])), id  # each once
        assert not (simulation.folder / "work" / "many" / id).exists()
    assert {run.info.status for run in store.runs(kind="trial")} == {"FINISHED", "FAILED"}
    assert workers.most == workers.jobs

    calls, seconds = sum(store.calls.values()), simulation.clock.now
    assert calls < 30 * len(trials)  # as many for each trial, however many trials there are
    assert most_per_second(store.calls) < 50  # two threads that wait for each answer
    assert most_per_second(simulation.reads) < FEW / TICK + 2 * AT_ONCE + 20  # of folders, with any number of workers
    assert kept[0] < 1500  # bytes for each trial that has ended
    if is_long:
        busiest, reads = most_per_second(store.calls), most_per_second(simulation.reads)
        print(f"\n{seconds / 3600:.1f} hours, {calls} calls: {calls / len(trials):.1f} for each trial,")
        print(f"{calls / seconds:.2f} a second, {busiest:.1f} in the busiest minute; {reads:.0f} reads of folders;")
        print(
            f"{kept[0]:.0f} bytes kept for each trial, {getrusage(RUSAGE_SELF).ru_maxrss / 1024:.0f} MB at most in all"
        )
        print(dict(store.asked))
