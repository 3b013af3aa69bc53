"""`--dry-run`: the trials of a study, their numbers of parameters, and how long they will take."""

from statistics import fmean

import torch
from rich.console import Console

from gredkit.ablation.estimate import Estimates
from gredkit.ablation.jobs import jobs_for
from gredkit.ablation.memory import trial_bytes
from gredkit.ablation.plan import Plan, make_plan, repeats
from gredkit.ablation.progress import duration
from gredkit.ablation.rounds import comparable, largest, least, looks_of, size, to_come
from gredkit.config.fractions import about
from gredkit.config.source import Source
from gredkit.registry import LAUNCHERS
from gredkit.system.printing import print_table, say
from gredkit.system.resources import resources
from gredkit.trials.trial import Trial

TITLES = ("variant", "dataset", "K", "epochs", "parameters", "seeds", "time for each")
Kind = tuple[str, str, str]  # dataset, variant and point of the tuning grid: trials that differ only in their seed


def dry_run(source: Source, launcher: str, jobs: int | None, console: Console) -> None:
    """Show what `run` would do. Nothing is tracked; each variant is timed on one batch."""
    plan = make_plan(source)
    LAUNCHERS[launcher]  # an unknown name raises with the nearest matches
    if jobs is None:
        chosen = jobs_for(least(plan), resources(), trial_bytes)
        say(console, str(chosen))
        jobs = chosen.count
    torch.set_num_threads(max(torch.get_num_threads() // jobs, 1))  # as many as each trial will have
    times = _times(plan)
    say(console, plan.study)
    if (study := source.load().study).combine == "fraction" and study.axes:
        say(console, f"A fraction, {about(study.axes, study.resolution)}.")
    _print_table(plan, times, console)
    for sentence in plan.unmatched:
        say(console, sentence)
    said = f"{size(plan)}, {_time(plan, times, jobs)} with {jobs} at a time on this machine"
    if plan.is_tuning:
        final = to_come(plan)
        said = f"{said}; then {size(final)} with what tuning chose, {_time(final, _chosen(times), jobs)}"
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
                _seeds(trials, plan),
                duration(times[kind]),
            ]
        )
    print_table(console, TITLES, rows, names=2)


def _times(plan: Plan) -> dict[Kind, float]:
    """The seconds of a trial of each kind."""
    estimates = Estimates()
    return {_kind(trial): estimates.seconds(trial) for trial in plan.trials}


def _chosen(times: dict[Kind, float]) -> dict[Kind, float]:
    """The seconds of the trials that follow after tuning: the mean of what their variant searches."""
    searched: dict[Kind, list[float]] = {}
    for (dataset, variant, _), seconds in times.items():
        searched.setdefault((dataset, variant, ""), []).append(seconds)
    return {kind: fmean(seconds) for kind, seconds in searched.items()}


def _time(plan: Plan, times: dict[Kind, float], jobs: int) -> str:
    """`about 40 s`, or `about 8 min to 19 min`."""
    few, many = (duration(sum(times[_kind(trial)] for trial in some(plan)) / jobs) for some in (least, largest))
    return f"about {few}" if few == many else f"about {few} to {many}"


def _seeds(trials: list[Trial], plan: Plan) -> str:
    """The seeds of a variant, or how many they may be."""
    looks = looks_of(plan)
    if not looks or trials[0].dataset not in plan.looks:
        return ", ".join(dict.fromkeys(str(trial.seed) for trial in trials))
    is_compared = (trials[0].dataset, trials[0].variant) in comparable(plan)
    return f"{looks[0]} to {looks[-1]}" if is_compared and len(looks) > 1 else str(looks[0])


def _kind(trial: Trial) -> Kind:
    return trial.dataset, trial.variant, trial.tuning
