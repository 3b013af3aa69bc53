"""`--dry-run`: the trials of a study, their sizes, and about how long they take."""

import torch
from rich.console import Console

from gredkit.ablation.estimate import seconds
from gredkit.ablation.jobs import jobs_for
from gredkit.ablation.plan import Plan, make_plan, repeats
from gredkit.ablation.progress import duration
from gredkit.config.source import Source
from gredkit.system.printing import print_table, say
from gredkit.system.resources import resources
from gredkit.trials.trial import Trial

TITLES = ("variant", "dataset", "K", "epochs", "parameters", "seeds", "time for each")


def dry_run(source: Source, jobs: int | None, console: Console) -> None:
    """Show what `run` would do. Nothing is tracked; each variant is timed on a few batches and thrown away."""
    plan = make_plan(source)
    if jobs is None:
        chosen = jobs_for(plan.trials, resources())
        say(console, str(chosen))
        jobs = chosen.count
    torch.set_num_threads(max(torch.get_num_threads() // jobs, 1))  # as many as each trial will have
    times = _times(plan)
    say(console, plan.study)
    _print_table(plan, times, console)
    known = [time for trial in plan.trials if (time := times[_kind(trial)]) is not None]
    total = sum(known) / jobs
    said = f"{len(plan.trials)} trials, about {duration(total)} with {jobs} at a time on this machine"
    if plan.is_tuning:
        more = sum(known) / max(len(known), 1) * plan.to_come / jobs
        said = f"{said}; then {plan.to_come} trials with what tuning chose, about {duration(more)}"
    if plan.repeated:
        said = f"{said}; {repeats(plan)}"
    say(console, said)


def _print_table(plan: Plan, times: dict[tuple[str, ...], float | None], console: Console) -> None:
    """One row per variant and dataset: seeds make no difference before training."""
    rows: list[list[str]] = []
    kinds: dict[tuple[str, ...], list[Trial]] = {}
    for trial in plan.trials:
        kinds.setdefault(_kind(trial), []).append(trial)
    for kind, trials in kinds.items():
        settings, time = trials[0].settings, times[kind]
        rows.append(
            [
                f"{trials[0].variant} ({trials[0].tuning})" if trials[0].tuning else trials[0].variant,
                trials[0].dataset,
                "diameter" if settings["K"] is None else str(settings["K"]),
                str(settings["fit.epochs"]),
                f"{trials[0].parameters:,}",
                ", ".join(str(trial.seed) for trial in trials),
                "?" if time is None else duration(time),
            ]
        )
    print_table(console, TITLES, rows, names=2)


def _times(plan: Plan) -> dict[tuple[str, ...], float | None]:
    times: dict[tuple[str, ...], float | None] = {}
    for trial in plan.trials:
        if _kind(trial) not in times:
            times[_kind(trial)] = seconds(trial)
    return times


def _kind(trial: Trial) -> tuple[str, ...]:
    return trial.dataset, trial.variant, trial.tuning
