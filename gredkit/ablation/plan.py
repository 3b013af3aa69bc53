"""From a study to its trials."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean

from gredkit import config
from gredkit.ablation.matching import matched
from gredkit.ablation.settings import Point, Study
from gredkit.ablation.source import Source, as_text, name_of
from gredkit.ablation.trial import Trial, about_data, describe, resolve
from gredkit.errors import UserError
from gredkit.nn.budget import parameters_of

Outcome = Callable[[Trial], float | None]  # the best validation score of a trial that finished


@dataclass(frozen=True)
class Plan:
    """The trials of a study, each once; those that only tune come first, in a plan of their own."""

    study: str
    source: Source
    trials: tuple[Trial, ...]
    repeated: int = 0  # combinations that come out as a trial that is there already
    to_come: int = 0  # final trials, once tuning has chosen

    @property
    def is_tuning(self) -> bool:
        return self.to_come > 0


def make_plan(source: Source) -> Plan:
    """Expand the study that the files describe; every mistake that can be seen before training is raised here."""
    source.load()
    study: Study = config.read("study")
    name = study.name or Path(source.files[0]).stem
    trials = [trial for entry in study.datasets or (None,) for trial in _of_dataset(name, source, study, entry)]
    tuning = [trial for trial in trials if trial.role == "tune"]
    if tuning:
        return _unique(Plan(name, source, tuple(tuning), to_come=len(trials) - len(tuning)))
    return _unique(Plan(name, source, tuple(trials)))


def after_tuning(plan: Plan, validation: Outcome) -> Plan:
    """The final trials, each variant with the setting that validated best on its dataset."""
    by_variant: dict[tuple[str, str], dict[str, list[Trial]]] = {}
    for trial in plan.trials:
        by_variant.setdefault((trial.dataset, trial.variant), {}).setdefault(trial.tuning, []).append(trial)
    final: list[Trial] = []
    for points in by_variant.values():
        scores = {tuning: _mean(trials, validation) for tuning, trials in points.items()}
        known = {tuning: score for tuning, score in scores.items() if score is not None}
        if not known:
            continue  # all of them failed: there is nothing to choose from, and the report says so
        choose = max if next(iter(points.values()))[0].larger_is_better else min
        best = points[choose(known, key=known.__getitem__)][0]
        best.load()
        seeds = config.read("study").seeds
        final += [resolve(replace(best, seed=seed, role="final")) for seed in seeds]
    return _unique(Plan(plan.study, plan.source, tuple(final)))


def _mean(trials: list[Trial], validation: Outcome) -> float | None:
    scores = [validation(trial) for trial in trials]
    return None if None in scores else fmean(score for score in scores if score is not None)


def _of_dataset(name: str, source: Source, study: Study, entry: str | None) -> Iterator[Trial]:
    """The trials on one dataset; its block may have a say in the axes."""
    source.load(entry, study.budget)
    here: Study = config.read("study")
    _refuse_overridden_axes(here, source)
    dataset = name_of(entry) if entry else config.read("trial").dataset
    budget = None if here.match_params is True else here.match_params
    for point in here.points():
        bindings = as_text(point.bindings.items())
        source.load(entry, study.budget, bindings)
        if here.match_params:
            spec = about_data().spec
            composition = describe(spec).composition
            budget = budget or parameters_of(lambda c=composition, s=spec: c.build(s))  # type: ignore[misc]
            bindings += tuple(matched(composition, spec, budget))
        trial = Trial(name, point.label, dataset, 0, source, entry, study.budget, bindings, point.bindings)
        for search in here.tuning_points() if here.tune else ():
            yield from _tuning(trial, search, here)
        yield from (resolve(replace(trial, seed=seed)) for seed in here.seeds)


def _tuning(trial: Trial, search: Point, study: Study) -> Iterator[Trial]:
    point = trial.point + as_text(search.bindings.items())
    for seed in study.tune_seeds:
        yield resolve(replace(trial, seed=seed, point=point, role="tune", tuning=search.label))


def _refuse_overridden_axes(study: Study, source: Source) -> None:
    axes = {*study.axes, *study.tune, *(binding for bundle in study.variants.values() for binding in bundle)}
    for binding in source.bindings:
        if (name := binding.partition("=")[0].strip()) in axes:
            raise UserError(f"{name!r} is an axis of this study: --set study.axes, or the macro that lists its values")


def _unique(plan: Plan) -> Plan:
    """Each trial once: an axis may have no effect on a variant, and a base may be one of the values."""
    first: dict[str, Trial] = {}
    for trial in plan.trials:
        same = first.setdefault(trial.id, trial)
        if same.dataset != trial.dataset:
            raise UserError(
                f"{same.dataset!r} and {trial.dataset!r} come out as the same trial: something overrides the dataset; "
                f"choose with --set \"DATASETS=('{same.dataset}',)\" instead"
            )
    return replace(plan, trials=tuple(first.values()), repeated=len(plan.trials) - len(first))
