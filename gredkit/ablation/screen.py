"""What the user sees while a study runs: a live table in a terminal, plain lines anywhere else."""

from collections.abc import Sequence

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from gredkit.ablation.progress import TrialProgress, duration
from gredkit.system.printing import say
from gredkit.trials.state import OPEN, TrialState

COLOURS = {
    TrialState.RUNNING: "cyan",
    TrialState.FINISHED: "green",
    TrialState.DIVERGED: "yellow",
    TrialState.FAILED: "red",
    TrialState.INTERRUPTED: "yellow",
}
FRAME = 6  # lines of the screen that are not rows of the table


class Screen:
    """Shows how far the trials are: those that run, the latest that ended and the next ones, as many as fit."""

    def __init__(self, console: Console, trials: Sequence[TrialProgress], jobs: int, stage: str = ""):
        self.console, self.trials, self.jobs, self.stage = console, trials, jobs, stage
        self._live = Live(console=console, refresh_per_second=4, transient=True) if console.is_terminal else None

    def __enter__(self) -> "Screen":
        if self._live:
            self._live.start()
        return self

    def __exit__(self, *error: object) -> None:
        if self._live:
            self._live.stop()

    def update(self) -> None:
        if self._live:
            self._live.update(Group(self._table(), self._summary()))

    def say(self, text: str) -> None:
        """Print a line that stays above the table."""
        say(self.console, text)

    def changed(self, progress: TrialProgress) -> None:
        """Print that a trial has started or ended."""
        if self._live and progress.state == TrialState.RUNNING:
            return  # the table shows it
        done = sum(one.state not in OPEN for one in self.trials)
        self.say(f"[{done}/{len(self.trials)}] {line(progress)}")

    def _table(self) -> Table:
        table = Table(box=None, pad_edge=False)
        for column in ("trial", "dataset", "seed", "state", "epoch", "score", "took", "left"):
            # Where the terminal is too narrow, only the name of the trial is cut.
            is_text = column in ("trial", "dataset", "state")
            table.add_column(column, justify="left" if is_text else "right", no_wrap=column != "trial")
        for one in self._shown():
            left = one.seconds_left()
            table.add_row(
                Text(_name(one), no_wrap=True, overflow="ellipsis"),
                one.trial.dataset,
                one.trial.repetition.removeprefix("seed "),
                Text(one.state, COLOURS.get(one.state, "dim")),
                f"{one.epoch}/{one.epochs}" if one.state not in (TrialState.WAITING, TrialState.FINISHED) else "",
                "" if one.score is None else f"{one.score:.4f}",
                duration(one.took) if one.took else "",
                "" if left is None else duration(left),
            )
        return table

    def _shown(self) -> list[TrialProgress]:
        """The running trials, with as many before and after them as fit into the terminal."""
        room = max(self.console.height - FRAME, 3)
        running = [i for i, one in enumerate(self.trials) if one.state == TrialState.RUNNING]
        first = max(min(running, default=0) - room // 2, 0)
        return list(self.trials[first : first + room])

    def _summary(self) -> Text:
        counts: dict[str, int] = {}
        for one in self.trials:
            counts[one.state] = counts.get(one.state, 0) + 1
        left = time_left(self.trials, self.jobs)
        said = ", ".join(f"{count} {state}" for state, count in counts.items())
        stage = f"{self.stage}: " if self.stage else ""
        return Text(f"\n{stage}{said}{f'; about {duration(left)} left' if left is not None else ''}", "bold")


def line(one: TrialProgress) -> str:
    """One line about a trial and its state."""
    head = f"{_name(one)} · {one.trial.dataset} · {one.trial.repetition}: {one.state}"
    if one.state == TrialState.RUNNING and one.epoch:
        return f"{head}, continues from epoch {one.epoch}"
    if one.state == TrialState.FINISHED and one.test is not None:
        return f"{head}, test {one.trial.metric} {one.test:.4f} in {duration(one.took)}"
    return f"{head}: {one.message}" if one.message else head


def time_left(trials: Sequence[TrialProgress], jobs: int) -> float | None:
    """Seconds until all trials have ended: running ones at their pace, waiting ones at the average pace so far."""
    paces = [one.took for one in trials if one.state == TrialState.FINISHED and one.took]
    running = [left for one in trials if (left := one.seconds_left()) is not None]
    paces += [left / (1 - one.epoch / one.epochs) for one in trials
              if (left := one.seconds_left()) is not None and one.epoch < one.epochs]  # fmt: skip
    if not paces:
        return None
    waiting = sum(one.state == TrialState.WAITING for one in trials)
    return (sum(running) + waiting * sum(paces) / len(paces)) / jobs


def _name(one: TrialProgress) -> str:
    return f"{one.trial.variant} ({one.trial.tuning})" if one.trial.role == "tune" else one.trial.variant
