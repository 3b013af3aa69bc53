"""`--dry-run`: the trials of a study, their numbers of parameters, and how long they will take."""

import torch
from rich.console import Console

from gredkit.ablation.estimate import Estimates
from gredkit.ablation.jobs import jobs_for
from gredkit.ablation.memory import trial_bytes
from gredkit.ablation.plan import Plan, make_plan, repeats
from gredkit.ablation.progress import duration
from gredkit.config.source import Source
from gredkit.system.printing import print_table, say
from gredkit.system.resources import resources
from gredkit.trials.trial import Trial

TITLES = ("variant", "dataset", "K", "epochs", "parameters", "seeds", "time for each")
Kind = tuple[str, str, str]  # dataset, variant and point of the tuning grid: trials that differ only in their seed


def dry_run(source: Source, jobs: int | None, console: Console) -> None:
    """Show what `run` would do. Nothing is tracked; each variant is timed on one batch."""
    plan = make_plan(source)
    if jobs is None:
        chosen = jobs_for(plan.trials, resources(), trial_bytes)
        say(console, str(chosen))
        jobs = chosen.count
    torch.set_num_threads(max(torch.get_num_threads() // jobs, 1))  # as many as each trial will have
    times = _times(plan)
    say(console, plan.study)
    _print_table(plan, times, console)
    total = sum(times[_kind(trial)] for trial in plan.trials)
    said = f"{len(plan.trials)} trials, about {duration(total / jobs)} with {jobs} at a time on this machine"
    if plan.is_tuning:
        more = total / len(plan.trials) * plan.to_come / jobs
        said = f"{said}; then {plan.to_come} trials with what tuning chose, about {duration(more)}"
    if plan.repeated:
        said = f"{said}; {repeats(plan)}"
    say(console, said)


def _print_table(plan: Plan, times: dict[Kind, float], console: Console) -> None:
    """One row per variant and dataset: seeds make no difference before training."""
    rows: list[list[str]] = []
    kinds: dict[Kind, list[Trial]] = {}
    for trial in plan.trials:
        kinds.setdefault(_kind(trial), []).append(trial)
    for kind, trials in kinds.items():
        settings = trials[0].settings
        rows.append(
            [
                f"{trials[0].variant} ({trials[0].tuning})" if trials[0].tuning else trials[0].variant,
                trials[0].dataset,
                "diameter" if settings["K"] is None else str(settings["K"]),
                str(settings["fit.epochs"]),
                f"{trials[0].parameters:,}",
                ", ".join(str(trial.seed) for trial in trials),
                duration(times[kind]),
            ]
        )
    print_table(console, TITLES, rows, names=2)


def _times(plan: Plan) -> dict[Kind, float]:
    """The seconds of a trial of each kind."""
    estimates = Estimates()
    return {_kind(trial): estimates.seconds(trial) for trial in plan.trials}


def _kind(trial: Trial) -> Kind:
    return trial.dataset, trial.variant, trial.tuning
