"""Which trials of a plan are due: all of them, or as many seeds as open comparisons need.

With a list of seeds there is one round. With `study.seeds = 'until_decided'` all variants are trained with the seeds of
the first look; then those whose comparisons are still open, and what they are compared with, get the seeds up to the
next look. What is due follows from the scores of the rounds before and from nothing else: a command that begins anew
goes through the same rounds, and finds their trials trained.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from gredkit.ablation.plan import Plan
from gredkit.trials.trial import Trial

Variants = set[tuple[str, str]]  # dataset and variant


@dataclass(frozen=True)
class Round:
    """Trials that are due at the same time.

    number: from 1
    most: how many rounds there may be
    seeds: how many seeds the trained variants have after it; 0 if the seeds are a list
    trials: those that are new
    due: those of all rounds until now, in the order of the plan
    """

    number: int
    most: int
    seeds: int
    trials: tuple[Trial, ...]
    due: tuple[Trial, ...]

    def __str__(self) -> str:
        return f"round {self.number} of at most {self.most} ({self.seeds} seeds)" if self.most > 1 else ""


def rounds(plan: Plan, going_on: Callable[[Round], Variants]) -> Iterator[Round]:
    """The rounds of a plan, one after the other; tuning is one round.

    going_on: which variants need more seeds than a round gave them; asked when the next round is wanted
    """
    looks = looks_of(plan)
    known: set[str] = set()
    chosen = {(trial.dataset, trial.variant) for trial in plan.trials}
    for number, seeds in enumerate(looks or (0,), 1):
        new = tuple(
            trial
            for trial in plan.trials
            if trial.id not in known and (trial.dataset, trial.variant) in chosen and _is_due(trial, plan, seeds)
        )
        if not new:
            return
        known.update(trial.id for trial in new)
        found = Round(number, len(looks) or 1, seeds, new, tuple(trial for trial in plan.trials if trial.id in known))
        yield found
        chosen = going_on(found) if looks else set()


def looks_of(plan: Plan) -> tuple[int, ...]:
    """The numbers of seeds after each round; none if seeds are a list. If there is nothing to compare, one round."""
    if plan.is_tuning or not plan.looks:
        return ()
    looks = next(iter(plan.looks.values()))
    return looks if comparable(plan) else looks[:1]


def comparable(plan: Plan) -> Variants:
    """The variants that may need several rounds: those on datasets that have more than one."""
    found = {(trial.dataset, trial.variant) for trial in plan.trials if trial.dataset in plan.looks}
    datasets = [dataset for dataset, _ in found]
    return {(dataset, variant) for dataset, variant in found if datasets.count(dataset) > 1}


def least(plan: Plan) -> tuple[Trial, ...]:
    """The trials that are trained in any case."""
    return next(rounds(plan, lambda done: set())).due


def largest(plan: Plan) -> tuple[Trial, ...]:
    """The trials that are trained if nothing is decided before the last look."""
    *_, last = rounds(plan, lambda done: comparable(plan))
    return last.due


def size(plan: Plan) -> str:
    """`4 trials`, or `60 to 144 trials`."""
    few, many = len(least(plan)), len(largest(plan))
    return f"{few} to {many} trials" if few < many else f"{many} trial{'s' if many > 1 else ''}"


def to_come(plan: Plan) -> Plan:
    """The plan that follows after tuning, except that its settings are not chosen yet."""
    return replace(plan, trials=plan.final, repeated=0, final=())


def _is_due(trial: Trial, plan: Plan, seeds: int) -> bool:
    return plan.is_tuning or trial.dataset not in plan.looks or trial.seed < seeds
