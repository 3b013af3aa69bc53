"""Run the trials of a plan: finished trials are skipped, interrupted ones continue."""

import signal
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path
from types import FrameType

from gredkit.ablation.launchers.base import Job, Launcher, Lost, Refused
from gredkit.ablation.progress import TrialProgress
from gredkit.ablation.screen import Screen
from gredkit.system.writing import CannotWrite
from gredkit.tracking.forwarder import Forwarder
from gredkit.tracking.store import StoreError
from gredkit.tracking.tracker import Tracker
from gredkit.trials.folder import TrialFolder
from gredkit.trials.state import BROKEN, ENDED, TrialState
from gredkit.trials.trial import Trial

TICK = 0.25  # seconds between two checks of the trials
FEW = 10  # folders of running trials that one check reads; they take turns, to spare the disk that a cluster shares
HANGUP = getattr(signal, "SIGHUP", None)  # the terminal was closed


class Runner:
    """The loop that starts and watches trials.

    Ctrl-C, or closing the terminal, stops after the running epochs; a second Ctrl-C stops immediately.
    """

    def __init__(self, launcher: Launcher, tracker: Tracker, forwarder: Forwarder, work: Path):
        self._launcher, self._tracker, self._forwarder, self._work = launcher, tracker, forwarder, work
        self._interrupts = 0
        self.refusal: Refused | None = None  # if the launcher refused a trial, no other one is started

    @property
    def was_interrupted(self) -> bool:
        return self._interrupts > 0

    @property
    def is_impatient(self) -> bool:
        """Whether Ctrl-C came twice."""
        return self._interrupts > 1

    @property
    def is_ending(self) -> bool:
        """Whether no more trials are started."""
        return self._interrupts > 0 or self.refusal is not None

    def folder_of(self, trial: Trial) -> TrialFolder:
        return folder_of(self._work, trial)

    def run(self, trials: Sequence[TrialProgress], screen: Screen) -> None:
        """Train all waiting trials, then those that another invocation had but did not finish."""
        with self._signals():
            self._train([one for one in trials if one.state == TrialState.WAITING], screen)
            self._train([one for one in trials if one.state == TrialState.ELSEWHERE], screen)

    def _train(self, waiting: list[TrialProgress], screen: Screen) -> None:
        running: dict[Job, TrialProgress] = {}
        obeyed = 0
        while running or (waiting and not self.is_ending):
            begun = self._begin(waiting, self._launcher.capacity - len(running), screen)
            running.update(zip(self._start(begun), begun, strict=False))
            if self._interrupts > obeyed:
                obeyed = self._interrupts
                self._stop(running, screen)
            self._launcher.wait(TICK)
            few = set(islice(running, FEW))
            for job, one in list(running.items()):
                ended = job.ended()  # asked before reading, so that nothing that it wrote is missed
                if ended is not None or job in few:
                    one.read(self.folder_of(one.trial))
                    running[job] = running.pop(job)  # the others come first at the next check
                if ended is not None:
                    del running[job]
                    self._end(one, *ended)
                    screen.changed(one)
            screen.update()

    def _begin(self, waiting: list[TrialProgress], most: int, screen: Screen) -> list[TrialProgress]:
        """Take trials from those that wait, and prepare their folders."""
        begun: list[TrialProgress] = []
        while waiting and len(begun) < most and not self.is_ending:
            one = waiting.pop(0)
            before = one.state
            if self._is_ready(one):
                begun.append(one)
            if one.state != before:
                screen.changed(one)
        return begun

    def _is_ready(self, one: TrialProgress) -> bool:
        """Claim a trial and make its folder; False if another invocation was faster, or if nothing can be written."""
        folder = self.folder_of(one.trial)
        try:
            if not self._is_ours(one):
                return False
        except StoreError:
            pass  # no answer; if two invocations train it, the results are equal and MLflow keeps one
        try:
            folder.create(one.trial)
        except CannotWrite as error:
            one.end(TrialState.INTERRUPTED, str(error))
            return False
        one.start(folder)
        self._forwarder.watch(folder)
        return True

    def _start(self, begun: list[TrialProgress]) -> list[Job]:
        """The jobs of trials; none if the launcher refuses."""
        if not begun:
            return []
        try:
            return self._launcher.start_all([self.folder_of(one.trial).path for one in begun])
        except Refused as error:
            self.refusal = error
            for one in begun:
                self._forwarder.forget(self.folder_of(one.trial))
                one.end(TrialState.INTERRUPTED, str(error))
            return []

    def _is_ours(self, one: TrialProgress) -> bool:
        """Claim a trial, and check whether somebody has trained it in the meantime."""
        owner = self._tracker.claim(one.trial.id)
        found = self._tracker.trial(one.trial.id)
        if found is not None and found.state == TrialState.RUNNING and owner is None:  # its owner could not claim it
            parent = found.tags.get("mlflow.parentRunId", "")
            owner = None if parent == self._tracker.invocation else self._tracker.alive(parent)
        if found is not None and found.state in BROKEN and found.run == one.retried and owner is None:
            self._tracker.discard(found.run)
        elif found is not None and found.state in ENDED:
            one.found(found.state, found.metrics, found.message)
            return False
        if owner is not None:
            one.found(TrialState.ELSEWHERE, found.metrics if found else {}, f"{owner} trains it")
        return owner is None

    def _end(self, one: TrialProgress, state: TrialState | Lost, message: str) -> None:
        folder = self.folder_of(one.trial)
        if isinstance(state, Lost) and one.said is not None:  # it died just after recording how it ended
            state, message = one.said
        elif isinstance(state, Lost):  # it could not record its state
            state = TrialState.INTERRUPTED if state is Lost.KILLED or self._interrupts else TrialState.FAILED
            if folder.has_result():
                state, message = TrialState.FINISHED, ""
            with suppress(CannotWrite):  # full disk; the next invocation marks it as interrupted
                folder.append("ended", state=state, message=message)
        one.end(state, message)
        if state == TrialState.ELSEWHERE:
            self._forwarder.forget(folder)
        else:
            self._forwarder.ended(folder)

    def _stop(self, running: Mapping[Job, TrialProgress], screen: Screen) -> None:
        """Stop the running trials: after the running epoch, or at the second Ctrl-C immediately."""
        if self.is_impatient:
            for job in running:
                job.kill()
        else:
            screen.say("stopping after the running epochs; press Ctrl-C again to stop immediately")
            for job in running:
                job.stop()

    @contextmanager
    def _signals(self) -> Iterator[None]:
        """Count signals; the loop reacts to them.

        A closed terminal counts only once, although both the system and the shell report it. Under `nohup` it is
        ignored.
        """

        def count(number: int, frame: FrameType | None) -> None:
            self._interrupts = max(self._interrupts, 1) if number == HANGUP else self._interrupts + 1

        heard = [signal.SIGINT, signal.SIGTERM]
        if HANGUP is not None and signal.getsignal(HANGUP) != signal.SIG_IGN:
            heard.append(HANGUP)
        before = {number: signal.signal(number, count) for number in heard}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def folder_of(work: Path, trial: Trial) -> TrialFolder:
    """The folder of a trial; the same trial in another study has its own folder and run."""
    return TrialFolder(work / trial.study / trial.id)


def sort_out(
    trials: Sequence[Trial], tracker: Tracker, retry: bool, done: Mapping[str, TrialProgress]
) -> list[TrialProgress]:
    """Decide what to do with each trial: finished ones are only shown; failed ones are repeated with `retry`.

    done: trials that this invocation has already trained, by id
    """
    result, all_known = [], tracker.trials()
    for trial in trials:
        one, found = TrialProgress(trial), all_known.get(trial.id)
        if found is not None:
            tracker.relabel(found, trial)
        if trial.id in done:
            earlier = done[trial.id]
            one.state, one.message, one.took = earlier.state, earlier.message, earlier.took
            one.validation, one.test, one.score = earlier.validation, earlier.test, earlier.test
        elif found is not None and found.state == TrialState.RUNNING:  # by a living invocation: dead ones were repaired
            owner = tracker.alive(found.tags.get("mlflow.parentRunId", "")) or "another invocation"
            one.found(TrialState.ELSEWHERE, found.metrics, f"{owner} trains it")
        elif found is not None and found.state in BROKEN and retry:
            one.retried = found.run
        elif found is not None and found.state in ENDED:
            one.found(found.state, found.metrics, found.message)
        result.append(one)
    return result
