"""`--dry-run`: the trials of a study, their numbers of parameters, how long they will take, and what that costs."""

from statistics import fmean

import torch
from rich.console import Console

from gredkit.ablation.costs import Cost
from gredkit.ablation.estimate import Estimates
from gredkit.ablation.launchers.base import Launcher
from gredkit.ablation.launching import launcher_for
from gredkit.ablation.memory import trial_bytes
from gredkit.ablation.plan import Plan, make_plan, repeats
from gredkit.ablation.progress import duration
from gredkit.ablation.rounds import Variants, comparable, looks_of, rounds, size, to_come
from gredkit.config.fractions import about
from gredkit.config.source import Source
from gredkit.system.printing import print_table, say
from gredkit.trials.trial import Trial

TITLES = ("variant", "dataset", "K", "epochs", "parameters", "seeds", "time for each")
Kind = tuple[str, str, str]  # dataset, variant and point of the tuning grid: trials that differ in seeds and folds


def dry_run(source: Source, launcher: str, jobs: int | None, console: Console) -> None:
    """Show what `run` would do. Nothing is tracked; each variant is timed on one batch."""
    plan = make_plan(source)
    chosen = launcher_for(plan, launcher, jobs, lambda said: say(console, said))
    first = _first(plan)
    cores = max(chosen.resources(trial).cores for trial in first.values())
    torch.set_num_threads(max(min(torch.get_num_threads(), cores), 1))  # as many as each trial will have
    estimates = Estimates(first.values())
    times = {kind: estimates.seconds(trial) for kind, trial in first.items()}
    say(console, plan.study)
    if (study := source.load().study).combine == "fraction" and study.axes:
        say(console, f"A fraction, {about(study.axes, study.resolution)}.")
    _print_table(plan, times, console)
    for sentence in plan.unmatched:
        say(console, sentence)
    say(console, _resources(chosen, first, times))
    few, many = _costs(plan, times, chosen)
    said = f"{size(plan)}, about {_between(few.span, many.span)} with {chosen.jobs} at a time {chosen.place}"
    if plan.is_tuning:
        final = to_come(plan)
        after = _costs(final, _chosen(times), chosen)
        said = f"{said}; then {size(final)} with what tuning chose, about {_between(after[0].span, after[1].span)}"
        few, many = few + after[0], many + after[1]
    if plan.repeated:
        said = f"{said}; {repeats(plan)}"
    say(console, said)
    path = _between(few.path, many.path)
    say(console, f"The critical path is {path}: the longest trial of each round, one after another.")
    say(console, f"It costs {_hours(few.cores, many.cores, 'core')}{_hours(few.gpus, many.gpus, 'GPU', ' and ')}.")
    if chosen.place != Launcher.place:
        count = torch.get_num_threads()
        measured = f"on this machine with {count} thread{'s' if count > 1 else ''}"
        say(console, f"Times were measured {measured}; {chosen.place} they may be shorter or longer.")


def _first(plan: Plan) -> dict[Kind, Trial]:
    """The first trial of each kind."""
    found: dict[Kind, Trial] = {}
    for trial in plan.trials:
        found.setdefault(_kind(trial), trial)
    return found


def _costs(plan: Plan, times: dict[Kind, float], launcher: Launcher) -> tuple[Cost, Cost]:
    """The least and the most that it may be."""

    def cost(going_on: Variants) -> Cost:
        trained = rounds(plan, lambda done: going_on)
        return Cost.of(trained, launcher.jobs, lambda trial: times[_kind(trial)], launcher.resources)

    return cost(set()), cost(comparable(plan))


def _resources(launcher: Launcher, first: dict[Kind, Trial], times: dict[Kind, float]) -> str:
    """What trials are given, and what the largest and the longest one need."""
    given = [launcher.resources(trial) for trial in first.values()]
    memory, longest = max(map(trial_bytes, first.values())) / 1e9, max(times.values())
    said = f"Each trial has {' or '.join(dict.fromkeys(map(str, given)))}. "
    said += f"The largest may need {memory:.1f} GB of memory, the longest {duration(longest)}"
    if any(one.hours is not None and longest > 3600 * one.hours for one in given):
        said += ", which is above the limit: it continues in another job"
    return f"{said}."


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


def _chosen(times: dict[Kind, float]) -> dict[Kind, float]:
    """The seconds of the trials that follow after tuning: the mean of what their variant searches."""
    searched: dict[Kind, list[float]] = {}
    for (dataset, variant, _), seconds in times.items():
        searched.setdefault((dataset, variant, ""), []).append(seconds)
    return {kind: fmean(seconds) for kind, seconds in searched.items()}


def _between(few: float, many: float) -> str:
    """`40 s`, or `8 min to 19 min`."""
    few_said, many_said = duration(few), duration(many)
    return few_said if few_said == many_said else f"{few_said} to {many_said}"


def _hours(few: float, many: float, of: str, before: str = "") -> str:
    """`0.31 core-hours`, or `0.31 to 0.74 core-hours`; nothing if there are none."""
    least, most = (f"{seconds / 3600:.2g}" if seconds < 36_000 else f"{seconds / 3600:.0f}" for seconds in (few, many))
    return f"{before}{least if least == most else f'{least} to {most}'} {of}-hours" if many else ""


def _seeds(trials: list[Trial], plan: Plan) -> str:
    """The seeds of a variant, or how many they may be, and the folds or whatever else repeats it."""
    looks = looks_of(plan)
    folds = list(dict.fromkeys(trial.replicate for trial in trials if trial.replicate))
    each = f" for each of {', '.join(folds)}" if folds else ""
    if not looks or trials[0].dataset not in plan.looks:
        return ", ".join(dict.fromkeys(str(trial.seed) for trial in trials)) + each
    is_compared = (trials[0].dataset, trials[0].variant) in comparable(plan)
    return (f"{looks[0]} to {looks[-1]}" if is_compared and len(looks) > 1 else str(looks[0])) + each


def _kind(trial: Trial) -> Kind:
    return trial.dataset, trial.variant, trial.tuning
