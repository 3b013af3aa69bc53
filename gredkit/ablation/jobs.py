"""How many trials run side by side if the user gives no number."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gredkit.system.resources import Resources

if TYPE_CHECKING:  # it needs PyTorch, which launchers on other machines do without
    from gredkit.trials.trial import Trial

ON_GPU = 3_000_000_000  # bytes of the machine's memory for a process that computes on a GPU
AMPLE = 4  # times what the first variant needs: no other one will need more


@dataclass(frozen=True)
class Jobs:
    """A number of trials that run side by side, and why it was chosen."""

    count: int
    reason: str

    def __str__(self) -> str:
        side = "1 trial at a time" if self.count == 1 else f"{self.count} trials side by side"
        return f"{side}, {self.reason}; --jobs N sets another number"


def jobs_for(trials: "Sequence[Trial]", machine: Resources, needed: "Callable[[Trial], int]") -> Jobs:
    """One trial per GPU, or else per core; fewer if there are fewer trials or too little memory.

    Trials that share a GPU or a core only slow each other down, and a small model gains little from more threads.
    needed: how many bytes a trial needs, as `trial_bytes` tells.
    """
    on_gpus = machine.gpus > 0 and any(trial.settings.get("fit.device") != "cpu" for trial in trials)
    most, place = (machine.gpus, "GPU") if on_gpus else (machine.cores, "core")
    wanted = max(min(most, len(trials)), 1)
    each = ON_GPU if on_gpus else _largest(trials, machine.memory // wanted, needed)
    count = max(min(wanted, machine.memory // each), 1)
    if count < wanted:
        return Jobs(count, f"as {machine.memory / 1e9:.1f} GB of memory are free and one may need {each / 1e9:.1f} GB")
    if count < most:
        return Jobs(count, "all there are")
    return Jobs(count, f"one for each {place}" if count > 1 else f"as there is one {place}")


def _largest(trials: "Sequence[Trial]", share: int, needed: "Callable[[Trial], int]") -> int:
    """Bytes that one of the trials may need; every variant is only looked at if memory might not suffice."""
    first = {trial.dataset: trial for trial in reversed(trials)}
    largest = max(map(needed, first.values()), default=1)
    if AMPLE * largest <= share:
        return largest
    return max(map(needed, {(trial.dataset, trial.variant): trial for trial in trials}.values()), default=1)
