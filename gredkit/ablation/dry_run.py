"""`--dry-run`: the trials of a study, their sizes, and about how long they take."""

import torch
from rich.console import Console
from rich.table import Table

from gredkit.ablation.estimate import seconds
from gredkit.ablation.plan import Plan, make_plan
from gredkit.ablation.progress import duration
from gredkit.config.source import Source
from gredkit.trials.trial import Trial


def dry_run(source: Source, jobs: int, console: Console) -> None:
    """Show what `run` would do. Nothing is tracked; each variant is timed on a few batches and thrown away."""
    plan = make_plan(source)
    torch.set_num_threads(max(torch.get_num_threads() // jobs, 1))  # as many as each trial will have
    times = _times(plan)
    console.print(_table(plan, times))
    known = [time for trial in plan.trials if (time := times[_kind(trial)]) is not None]
    total = sum(known) / jobs
    said = f"{len(plan.trials)} trials, about {duration(total)} with {jobs} at a time on this machine"
    if plan.is_tuning:
        more = sum(known) / max(len(known), 1) * plan.to_come / jobs
        said = f"{said}; then {plan.to_come} trials with what tuning chose, about {duration(more)}"
    if plan.repeated:
        said = f"{said}; {plan.repeated} combinations repeat another one"
    console.print(said, highlight=False)


def _table(plan: Plan, times: dict[tuple[str, ...], float | None]) -> Table:
    """One row a variant and dataset: its seeds differ in nothing that can be seen before."""
    table = Table(title=plan.study, title_justify="left", title_style="bold")
    for column in ("variant", "dataset", "K", "epochs", "parameters", "seeds", "about, each"):
        table.add_column(column, justify="left" if column in ("variant", "dataset") else "right")
    rows: dict[tuple[str, ...], list[Trial]] = {}
    for trial in plan.trials:
        rows.setdefault(_kind(trial), []).append(trial)
    for kind, trials in rows.items():
        settings, time = trials[0].settings, times[kind]
        table.add_row(
            f"{trials[0].variant} ({trials[0].tuning})" if trials[0].tuning else trials[0].variant,
            trials[0].dataset,
            "diameter" if settings["K"] is None else str(settings["K"]),
            str(settings["fit.epochs"]),
            f"{trials[0].parameters:,}",
            ", ".join(str(trial.seed) for trial in trials),
            "?" if time is None else duration(time),
        )
    return table


def _times(plan: Plan) -> dict[tuple[str, ...], float | None]:
    times: dict[tuple[str, ...], float | None] = {}
    for trial in plan.trials:
        if _kind(trial) not in times:
            times[_kind(trial)] = seconds(trial)
    return times


def _kind(trial: Trial) -> tuple[str, ...]:
    return trial.dataset, trial.variant, trial.tuning
