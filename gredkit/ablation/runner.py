"""Runs the trials of a plan: what is finished is skipped, what was interrupted goes on."""

import signal
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
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

TICK = 0.25  # seconds between two looks at the trials
HANGUP = getattr(signal, "SIGHUP", None)  # the terminal was closed


class Runner:
    """The loop around a launcher. Ctrl-C once, or a closed terminal, stops after the running epochs, twice at once."""

    def __init__(self, launcher: Launcher, tracker: Tracker, forwarder: Forwarder, work: Path):
        self._launcher, self._tracker, self._forwarder, self._work = launcher, tracker, forwarder, work
        self._interrupts = 0
        self.refusal: Refused | None = None  # of the launcher: no other trial is started

    @property
    def was_interrupted(self) -> bool:
        return self._interrupts > 0

    @property
    def is_impatient(self) -> bool:
        """Whether Ctrl-C came twice."""
        return self._interrupts > 1

    @property
    def _is_ending(self) -> bool:
        return self._interrupts > 0 or self.refusal is not None

    def folder_of(self, trial: Trial) -> TrialFolder:
        return folder_of(self._work, trial)

    def run(self, trials: Sequence[TrialProgress], screen: Screen) -> None:
        """Train all that waits; then what another invocation had, if that one has left it."""
        with self._signals():
            self._train([one for one in trials if one.state == TrialState.WAITING], screen)
            self._train([one for one in trials if one.state == TrialState.ELSEWHERE], screen)

    def _train(self, waiting: list[TrialProgress], screen: Screen) -> None:
        running: dict[Job, TrialProgress] = {}
        obeyed = 0
        while running or (waiting and not self._is_ending):
            while waiting and len(running) < self._launcher.jobs and not self._is_ending:
                one = waiting.pop(0)
                before = one.state
                if (job := self._start(one)) is not None:
                    running[job] = one
                if one.state != before:
                    screen.changed(one)
            if self._interrupts > obeyed:
                obeyed = self._interrupts
                self._stop(running, screen)
            self._launcher.wait(TICK)
            for job, one in list(running.items()):
                ended = job.ended()  # before reading: what it wrote last is then there
                one.read(self.folder_of(one.trial))
                if ended is not None:
                    del running[job]
                    self._end(one, *ended)
                    screen.changed(one)
            screen.update()

    def _start(self, one: TrialProgress) -> Job | None:
        """None if another invocation was faster, or if nothing can be written."""
        folder = self.folder_of(one.trial)
        try:
            if not self._is_ours(one):
                return None
        except StoreError:
            pass  # it does not answer now; if both train it, both find the same, and MLflow keeps one of them
        try:
            folder.create(one.trial)
        except CannotWrite as error:
            one.end(TrialState.INTERRUPTED, str(error))
            return None
        one.start(folder)
        self._forwarder.watch(folder)
        try:
            return self._launcher.start(folder.path)
        except Refused as error:
            self.refusal = error
            self._forwarder.forget(folder)
            one.end(TrialState.INTERRUPTED, str(error))
            return None

    def _is_ours(self, one: TrialProgress) -> bool:
        """Claim a trial, and see whether somebody has trained it in the meantime."""
        owner = self._tracker.claim(one.trial.id)
        found = self._tracker.trial(one.trial.id)
        if found is not None and found.state == TrialState.RUNNING and owner is None:  # of one who could not claim it
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
        if isinstance(state, Lost) and one.said is not None:  # right after it had written how it ended
            state, message = one.said
        elif isinstance(state, Lost):  # it could not say so itself
            state = TrialState.INTERRUPTED if state is Lost.KILLED or self._interrupts else TrialState.FAILED
            if folder.has_result():
                state, message = TrialState.FINISHED, ""
            with suppress(CannotWrite):  # a full disk; the next invocation finds it open, and interrupted
                folder.append("ended", state=state, message=message)
        one.end(state, message)
        if state == TrialState.ELSEWHERE:
            self._forwarder.forget(folder)
        else:
            self._forwarder.ended(folder)

    def _stop(self, running: Mapping[Job, TrialProgress], screen: Screen) -> None:
        """What Ctrl-C asks for."""
        if self.is_impatient:
            for job in running:
                job.kill()
        else:
            screen.say("stopping after the running epochs; Ctrl-C again stops at once")
            for job in running:
                job.stop()

    @contextmanager
    def _signals(self) -> Iterator[None]:
        """Ctrl-C is only counted; the loop obeys it.

        A closed terminal counts once: the system and the shell both tell of it. Under `nohup` it is ignored.
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
    """Where a trial of a study writes; the same trial of another study has a folder and a run of its own."""
    return TrialFolder(work / trial.study / trial.id)


def sort_out(
    trials: Sequence[Trial], tracker: Tracker, retry: bool, done: Mapping[str, TrialProgress]
) -> list[TrialProgress]:
    """What is to be done: finished trials are only shown, failed ones done again when asked.

    `done` are trials that this invocation has trained before, by their ids.
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
        elif found is not None and found.state == TrialState.RUNNING:  # its invocation lives: the dead were repaired
            owner = tracker.alive(found.tags.get("mlflow.parentRunId", "")) or "another invocation"
            one.found(TrialState.ELSEWHERE, found.metrics, f"{owner} trains it")
        elif found is not None and found.state in BROKEN and retry:
            one.retried = found.run
        elif found is not None and found.state in ENDED:
            one.found(found.state, found.metrics, found.message)
        result.append(one)
    return result
