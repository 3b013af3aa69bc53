"""The launcher of a plan, as its study sets it up."""

from collections.abc import Callable

from gredkit.ablation.launchers.base import Launcher
from gredkit.ablation.plan import Plan
from gredkit.ablation.rounds import least
from gredkit.registry import LAUNCHERS


def launcher_for(plan: Plan, name: str, jobs: int | None, say: Callable[[str], None]) -> Launcher:
    """With the number of jobs that the user gave or, by default, that the launcher chooses."""
    kind: type[Launcher] = LAUNCHERS[name]  # type: ignore[assignment]
    settings = plan.source.load().settings(LAUNCHERS, name)
    if jobs is None:
        chosen = kind.usual_jobs(least(plan), settings)
        say(str(chosen))
        jobs = chosen.count
    return kind(jobs, **settings)
