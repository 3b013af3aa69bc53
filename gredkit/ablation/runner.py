"""Runs the trials of a plan: what is finished is skipped, what was interrupted goes on."""

import signal
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from gredkit.ablation.folder import TrialFolder
from gredkit.ablation.forwarder import Forwarder
from gredkit.ablation.launchers.base import Job, Launcher
from gredkit.ablation.progress import Progress
from gredkit.ablation.screen import Screen
from gredkit.ablation.tracking import Tracker
from gredkit.ablation.trial import Trial

TICK = 0.25  # seconds between two looks at the trials
RETRIED = ("failed", "diverged")


class Runner:
    """The loop around a launcher. Ctrl-C once stops after the running epochs, twice at once."""

    def __init__(self, launcher: Launcher, tracker: Tracker, forwarder: Forwarder, folder: Path):
        self._launcher, self._tracker, self._forwarder, self._folder = launcher, tracker, forwarder, folder
        self._interrupts = 0

    @property
    def was_interrupted(self) -> bool:
        return self._interrupts > 0

    @property
    def is_impatient(self) -> bool:
        """Whether Ctrl-C came twice."""
        return self._interrupts > 1

    def folder_of(self, trial: Trial) -> TrialFolder:
        return TrialFolder(self._folder / trial.id)

    def run(self, trials: Sequence[Progress], screen: Screen) -> None:
        """Train all that waits."""
        waiting = [one for one in trials if one.state == "waiting"]
        running: dict[Job, Progress] = {}
        with self._signals(screen, running):
            while running or (waiting and not self._interrupts):
                while waiting and len(running) < self._launcher.jobs and not self._interrupts:
                    one = waiting.pop(0)
                    running[self._start(one)] = one
                    screen.changed(one)
                self._launcher.wait(TICK)
                for job, one in list(running.items()):
                    ended = job.ended()  # before reading: what it wrote last is then there
                    one.read(self.folder_of(one.trial))
                    if ended is not None:
                        del running[job]
                        self._end(one, *ended)
                        screen.changed(one)
                screen.update()

    def _start(self, one: Progress) -> Job:
        folder = self.folder_of(one.trial)
        folder.create(one.trial)
        one.start(folder)
        self._forwarder.watch(folder)
        return self._launcher.start(folder.path)

    def _end(self, one: Progress, state: str, message: str) -> None:
        folder = self.folder_of(one.trial)
        if state in ("died", "killed"):  # it could not say so itself
            state = "interrupted" if state == "killed" else "failed"
            folder.append("ended", state=state, message=message)
        one.end(state, message)
        if state == "elsewhere":
            self._forwarder.forget(folder)
        else:
            self._forwarder.ended(folder)

    @contextmanager
    def _signals(self, screen: Screen, running: Mapping[Job, Progress]) -> Iterator[None]:
        def interrupt(number: int, frame: FrameType | None) -> None:
            self._interrupts += 1
            if self._interrupts == 1:
                screen.say("stopping after the running epochs; Ctrl-C again stops at once")
                for job in running:
                    job.stop()
            else:
                for job in running:
                    job.kill()

        before = {number: signal.signal(number, interrupt) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def sort_out(trials: Sequence[Trial], tracker: Tracker, work: Path, retry: bool) -> list[Progress]:
    """What is to be done: finished trials are only shown, failed ones done again when asked."""
    result, all_known = [], tracker.trials()
    for trial in trials:
        one, found = Progress(trial), all_known.get(trial.id)
        if found is not None and found.state == "running":  # of an invocation that lives: the dead were repaired
            one.end("elsewhere", "another invocation is training it")
        elif found is not None and found.state in RETRIED and retry:
            tracker.discard(found.run)
        elif found is not None and found.state == "interrupted" and not (work / trial.id).is_dir():
            tracker.discard(found.run)  # its checkpoint is on another machine, or was deleted
        elif found is not None and found.state in ("finished", *RETRIED):
            one.state, one.is_new, one.began = found.state, False, 0.0
            one.validation, one.test = found.metrics.get("best/validation"), found.metrics.get("best/test")
            one.score, one.message = one.test, found.message
            tracker.relabel(found, trial)
        result.append(one)
    return result
