"""A simulation of many workers and a slow store, for the real driver: only time, the jobs and MLflow are not real.

Threads take turns. One runs at a time, until it sleeps; then the one whose sleep ends first goes on, at that moment of
the simulated time. So a simulation takes no longer than its computations, and equal seeds give equal simulations.
"""

import heapq
import itertools
import random
import re
import threading
import time
import uuid
from collections import Counter, defaultdict
from types import SimpleNamespace

from mlflow.exceptions import MlflowException
from mlflow.protos.databricks_pb2 import INVALID_PARAMETER_VALUE, RESOURCE_DOES_NOT_EXIST, TEMPORARILY_UNAVAILABLE
from mlflow.store.entities import PagedList

from gredkit.ablation.launchers.base import Job, Launcher, Lost
from gredkit.trials.folder import TrialFolder
from gredkit.trials.state import TrialState

BEGAN = 1.8e9  # the time of day when a simulation begins


class Clock:
    """Stands for the modules `time` and `threading` in the modules of the driver."""

    def __init__(self):
        self.now = 0.0
        self._sleeping, self._order, self._own = [], itertools.count(), threading.local()

    def __getattr__(self, name):
        return getattr(time, name)  # what has nothing to do with the time that passes

    Lock = staticmethod(threading.Lock)

    def monotonic(self):
        return self.now

    def time(self):
        return BEGAN + self.now

    def time_ns(self):
        return int(1e9 * self.time())

    def sleep(self, seconds):
        mine = self._gate()
        heapq.heappush(self._sleeping, (self.now + max(seconds, 0.0), next(self._order), mine))
        if (following := self._next()) is not mine:
            following.release()
            mine.acquire()

    def Event(self):
        return _Event(self)

    def Thread(self, target, name, daemon):
        return _Thread(self, target, name)

    def begin(self, target):
        """A thread that begins when the others sleep."""
        gate = threading.Lock()
        gate.acquire()
        heapq.heappush(self._sleeping, (self.now, next(self._order), gate))

        def run():
            gate.acquire()
            self._own.gate = gate
            try:
                target()
            finally:
                self._next().release()

        threading.Thread(target=run, daemon=True).start()

    def _gate(self):
        if not hasattr(self._own, "gate"):
            self._own.gate = threading.Lock()
            self._own.gate.acquire()
        return self._own.gate

    def _next(self):
        until, _, gate = heapq.heappop(self._sleeping)
        self.now = max(self.now, until)
        return gate


class _Event:
    def __init__(self, clock):
        self._clock, self._is_set = clock, False

    def set(self):
        self._is_set = True

    def is_set(self):
        return self._is_set

    def wait(self, seconds):
        if not self._is_set:
            self._clock.sleep(seconds)
        return self._is_set


class _Thread:
    def __init__(self, clock, target, name):
        self._clock, self._target, self._has_ended = clock, target, False

    def start(self):
        def run():
            try:
                self._target()
            finally:
                self._has_ended = True

        self._clock.begin(run)

    def join(self, patience):
        until = self._clock.now + patience
        while not self._has_ended and self._clock.now < until:
            self._clock.sleep(0.1)


class Store:
    """What MLflow's client does of what the tracker asks: in memory, slowly, and not always.

    calls: how many, by the second in which they began; asked: by name
    """

    def __init__(self, clock, seconds=0.04, failing=0.01, away=()):
        self.clock, self._seconds, self._failing, self._away = clock, seconds, failing, away
        self.calls: Counter[int] = Counter()
        self.asked: Counter[str] = Counter()
        self._chance, self._runs, self._by_tag = random.Random(3), {}, defaultdict(list)

    def __getattr__(self, name):
        """Ask: it takes a while, and the question or the answer may be lost."""
        answer = getattr(Store, f"_{name}", None)
        if answer is None:
            raise AttributeError(name)

        def ask(*arguments, **named):
            self.calls[int(self.clock.now)] += 1
            self.asked[name] += 1
            self.clock.sleep(self._seconds * self._chance.lognormvariate(0.0, 0.5))
            if any(begin <= self.clock.now < end for begin, end in self._away) or self._chance.random() < self._failing:
                raise MlflowException("the question was lost", TEMPORARILY_UNAVAILABLE)
            found = answer(self, *arguments, **named)
            if self._chance.random() < self._failing:
                raise MlflowException("the answer was lost", TEMPORARILY_UNAVAILABLE)
            return found

        return ask

    def runs(self, **tags):
        """Those that are not deleted, with these tags."""
        some = min((self._by_tag[tag] for tag in tags.items()), key=len) if tags else list(self._runs.values())
        return [
            run
            for run in some
            if run.info.lifecycle_stage == "active" and all(run.data.tags.get(key) == tags[key] for key in tags)
        ]

    def _get_experiment_by_name(self, name):
        return SimpleNamespace(experiment_id="1", name=name, lifecycle_stage="active")

    def _create_run(self, experiment, start, tags, name):
        info = {"run_id": uuid.UUID(int=self._chance.getrandbits(128)).hex, "start_time": start or 0, "end_time": None}
        data = SimpleNamespace(tags={}, metrics={}, params={}, history=defaultdict(dict), files=Counter())
        run = SimpleNamespace(
            info=SimpleNamespace(**info, status="RUNNING", lifecycle_stage="active", artifact_uri="files"), data=data
        )
        self._runs[run.info.run_id] = run
        for key, value in tags.items():
            self._tag(run, key, value)
        return run

    def _tag(self, run, key, value):
        run.data.tags[key] = value = copied(value)
        if key in ("kind", "trial_id", "request"):
            self._by_tag[key, value].append(run)

    def _get_run(self, id):
        if id not in self._runs:
            raise MlflowException("there is no such run", RESOURCE_DOES_NOT_EXIST)
        return self._runs[id]

    def _search_runs(self, experiments, query="", max_results=1000, order_by=(), page_token=None):
        wanted = re.findall(r"(\w+)\.(\w+) = '([^']*)'", query)
        found = self.runs(**{key: value for what, key, value in wanted if what == "tags"})
        status = {value for what, _, value in wanted if what == "attributes"}
        found = [run for run in found if not status or run.info.status in status]
        found.sort(key=lambda run: run.info.start_time, reverse=True)
        first = int(page_token or 0)
        token = str(first + max_results) if first + max_results < len(found) else None
        return PagedList(found[first : first + max_results], token)

    def _log_param(self, id, key, value):
        params = self._get_run(id).data.params
        if params.setdefault(copied(key), copied(value)) != value:
            raise MlflowException("a parameter has one value", INVALID_PARAMETER_VALUE)

    def _log_batch(self, id, metrics=(), params=(), tags=()):
        for param in params:
            self._log_param(id, param.key, param.value)
        data = self._get_run(id).data
        for metric in metrics:
            data.metrics[metric.key] = metric.value
            point = SimpleNamespace(step=metric.step, value=metric.value)
            data.history[metric.key].setdefault((metric.step, metric.timestamp), point)  # the same one counts once
        for tag in tags:
            self._tag(self._runs[id], tag.key, tag.value)

    def _get_metric_history(self, id, key):
        return list(self._get_run(id).data.history[key].values())

    def _set_tag(self, id, key, value):
        self._tag(self._get_run(id), key, value)

    def _set_terminated(self, id, status=None, end_time=None):
        self._get_run(id).info.status, self._get_run(id).info.end_time = status, end_time

    def _update_run(self, id, status=None):
        self._get_run(id).info.status = status

    def _delete_run(self, id):
        self._get_run(id).info.lifecycle_stage = "deleted"

    def _log_artifact(self, id, file, folder=None):
        self._get_run(id).data.files[file] += 1

    def _log_text(self, id, text, name):
        self._get_run(id).data.files[name] += 1

    _log_dict = _log_text


def copied(text):
    """A text of the store's own, so that none of the driver's is kept for it."""
    return text.encode().decode()


class SimulatedJob(Job):
    def __init__(self):
        self.end = None

    def ended(self):
        return self.end

    def stop(self):
        raise AssertionError("nobody asks for it")

    kill = stop


class Workers(Launcher):
    """So many workers, on which a trial does what its fate says, by default an undisturbed training.

    A trial's fates are those of its attempts: 'error' (it records that it failed), 'death' (its process ends without a
    word), 'late death' (after the result), 'loss' (somebody ends it), 'preemption' (its worker is taken away; after a
    while it continues by itself on another one, and its next fate follows).
    """

    def __init__(self, jobs, clock, fates, epochs=5, minutes=60.0):
        super().__init__(jobs)
        self._clock, self._fates, self._epochs, self._seconds = clock, fates, epochs, 60 * minutes
        self._chance, self._due, self._order = random.Random(4), [], itertools.count()
        self.trained: Counter[str] = Counter()  # epochs of each trial
        self.attempts: Counter[str] = Counter()
        self.results: Counter[str] = Counter()
        self.running, self.most = set(), 0
        self.looking = lambda: None  # what a test does at each check

    def start(self, folder):
        job = SimulatedJob()
        self._attempt(job, TrialFolder(folder))
        return job

    def wait(self, seconds):
        self._clock.sleep(seconds)
        while self._due and self._due[0][0] <= self._clock.now:
            heapq.heappop(self._due)[2]()
        self.looking()

    def _attempt(self, job, folder):
        name = folder.path.name
        assert name not in self.running, f"{name} runs twice"
        self.running.add(name)
        self.most = max(self.most, len(self.running))
        self.attempts[name] += 1
        fates = self._fates.get(name, ())
        fate = fates[self.attempts[name] - 1] if self.attempts[name] <= len(fates) else ""
        first = self.trained[name]
        last = self._chance.randint(first, self._epochs - 1) if fate in DISTURBED else self._epochs
        epoch = self._seconds * self._chance.lognormvariate(0.0, 0.5) / self._epochs
        self._after(self._chance.uniform(0, 20), lambda: self._begin(folder))
        for nth in range(first, last):
            self._after(20 + epoch * (nth + 1 - first), lambda nth=nth: self._epoch(folder, nth))
        self._after(21 + epoch * (last - first + 0.5), lambda: self._end(job, folder, fate))

    def _after(self, seconds, do):
        heapq.heappush(self._due, (self._clock.now + seconds, next(self._order), do))

    def _begin(self, folder):
        folder.append("started", device="cpu", described={"parameters": "9"}, jobs=self.jobs)
        (folder.artifacts / "config.gin").write_text("")
        (folder.artifacts / "environment.json").write_text("{}")

    def _epoch(self, folder, nth):
        self.trained[folder.path.name] += 1
        folder.append("epoch", epoch=nth, train_loss=1 / (nth + 1), validation=0.5, seconds=60.0)

    def _end(self, job, folder, fate):
        name = folder.path.name
        self.running.remove(name)
        if fate == "preemption":
            self._after(self._chance.uniform(60, 600), lambda: self._attempt(job, folder))
        elif fate == "error":
            folder.append("ended", state=TrialState.FAILED, message="a mistake")
            job.end = TrialState.FAILED, "a mistake"
        elif fate in ("death", "loss"):
            job.end = Lost.DIED if fate == "death" else Lost.KILLED, f"its process had a {fate}"
        else:
            self.results[name] += 1
            folder.append("result", validation=0.5, test=score_of(name), epoch=0, final_epoch=self._epochs - 1)
            job.end = Lost.KILLED, "after its result"
            if not fate:
                folder.append("ended", state=TrialState.FINISHED, message="")
                job.end = TrialState.FINISHED, ""


DISTURBED = ("error", "death", "loss", "preemption")


def score_of(name):
    return random.Random(name).random()
