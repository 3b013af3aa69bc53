"""How many trials run side by side if the user gives no number."""

from collections.abc import Sequence
from dataclasses import dataclass

from gredkit.system.resources import Resources
from gredkit.trials.trial import Trial

TRIAL_BYTES = 10**9  # a trial of the embedded tasks takes 0.4 to 0.7 GB, most of it PyTorch itself


@dataclass(frozen=True)
class Jobs:
    """A number of trials that run side by side, and why it was chosen."""

    count: int
    reason: str

    def __str__(self) -> str:
        side = "1 trial at a time" if self.count == 1 else f"{self.count} trials side by side"
        return f"{side}, {self.reason}; --jobs N sets another number"


def jobs_for(trials: Sequence[Trial], machine: Resources) -> Jobs:
    """One trial per GPU, or else per core; fewer if there are fewer trials or too little memory.

    Trials that share a GPU or a core only slow each other down, and a small model gains little from more threads.
    """
    on_gpus = machine.gpus > 0 and any(trial.settings.get("fit.device") != "cpu" for trial in trials)
    most, place = (machine.gpus, "GPU") if on_gpus else (machine.cores, "core")
    fitting = machine.memory // TRIAL_BYTES
    count = max(min(most, len(trials), fitting), 1)
    if count < min(most, len(trials)):
        return Jobs(
            count, f"as {machine.memory / 1e9:.1f} GB of memory are free and each may need {TRIAL_BYTES / 1e9:.0f}"
        )
    if count < most:
        return Jobs(count, "all there are")
    return Jobs(count, f"one for each {place}" if count > 1 else f"as there is one {place}")
