"""Expand a study into its trials."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from math import isnan
from pathlib import Path
from statistics import fmean

from gredkit.ablation.dataset import about_data
from gredkit.ablation.described import describe, resolve
from gredkit.ablation.matching import matched
from gredkit.ablation.refused import (
    refuse_axes_without_effect,
    refuse_overridden_axes,
    refuse_several_metrics,
    refuse_unused,
)
from gredkit.config.source import Source, as_text, name_of
from gredkit.config.study import Study
from gredkit.errors import UserError
from gredkit.nn.parameters import parameters_of
from gredkit.trials.trial import Trial

Outcome = Callable[[Trial], float | None]  # the best validation score of a trial; None if it did not finish


@dataclass(frozen=True)
class Plan:
    """The trials of a study, each once; tuning trials come first, in a separate plan.

    If seeds are trained until all is decided, these are all trials that may be necessary: `rounds` says which are.
    """

    study: str
    source: Source
    trials: tuple[Trial, ...]
    repeated: int = 0  # combinations of the same axes that equal another trial of the plan
    final: tuple[Trial, ...] = ()  # those that follow after tuning, with settings that are still to be chosen
    looks: Mapping[str, tuple[int, ...]] = field(default_factory=dict)  # by dataset, as in `Study.looks`
    unmatched: tuple[str, ...] = ()  # sentences about variants whose number of parameters is not the wanted one

    @property
    def is_tuning(self) -> bool:
        return len(self.final) > 0


def make_plan(source: Source) -> Plan:
    """Expand the study that the files describe; raises for every mistake that can be found before training."""
    study = source.load().study
    name = study.name or Path(source.files[0]).stem
    trials: list[Trial] = []
    looks: dict[str, tuple[int, ...]] = {}
    unmatched: list[str] = []
    for entry in study.datasets or (None,):
        trials += _of_dataset(name, source, study, entry, unmatched)
        if here := source.load(entry, study.budget).study.looks:
            looks[trials[-1].dataset] = here
    if len(set(looks.values())) > 1:
        raise UserError("study.most_seeds is not the same for all datasets: set it in the file of the study")
    refuse_unused(trials, source)
    refuse_axes_without_effect(trials)
    refuse_several_metrics(trials)
    tuning = [trial for trial in trials if trial.role == "tune"]
    final = tuple(trial for trial in trials if trial.role != "tune") if tuning else ()
    return _unique(Plan(name, source, tuple(tuning or trials), 0, final, looks, tuple(unmatched)))


def after_tuning(plan: Plan, validation: Outcome) -> Plan:
    """The final trials: each variant with the setting that had the best validation score on its dataset."""
    by_variant: dict[tuple[str, str], dict[str, list[Trial]]] = {}
    for trial in plan.trials:
        by_variant.setdefault((trial.dataset, trial.variant), {}).setdefault(trial.tuning, []).append(trial)
    final: list[Trial] = []
    for points in by_variant.values():
        scores = {tuning: _mean(trials, validation) for tuning, trials in points.items()}
        known = {tuning: score for tuning, score in scores.items() if score is not None}
        choose = max if next(iter(points.values()))[0].larger_is_better else min
        # If every setting failed, use the first: the variant stays in the study and is reported as failed.
        best = points[choose(known, key=known.__getitem__) if known else next(iter(points))][0]
        final += resolve(replace(best, role="final"), best.configuration().study.every_seed)
    return _unique(Plan(plan.study, plan.source, tuple(final), looks=plan.looks))


def _mean(trials: list[Trial], validation: Outcome) -> float | None:
    """The mean score; None if a score is missing or NaN."""
    scores = [score for trial in trials if (score := validation(trial)) is not None and not isnan(score)]
    return fmean(scores) if len(scores) == len(trials) else None


def _of_dataset(name: str, source: Source, study: Study, entry: str | None, unmatched: list[str]) -> Iterator[Trial]:
    """The trials on one dataset, whose gin block may change the axes.

    A variant that does not get the wanted number of parameters adds a sentence to `unmatched`.
    """
    configuration = source.load(entry, study.budget)
    here = configuration.study
    here.check_size(len(study.datasets or (None,)))
    refuse_overridden_axes(here, source)
    dataset = name_of(entry) if entry else configuration.trial.dataset
    wanted = None if here.match_params is True else here.match_params
    for point in here.points():
        bindings = as_text(point.bindings.items())
        configuration = source.load(entry, study.budget, bindings)
        if here.match_params:
            spec = about_data(configuration).spec
            composition = describe(configuration, spec).composition
            if wanted is None:  # the first variant says how many parameters, and is not changed
                wanted = parameters_of(lambda c=composition, s=spec: c.build(s))  # type: ignore[misc]
            else:
                match = matched(composition, spec, wanted)
                bindings += match.bindings
                if said := match.said():
                    unmatched.append(f"{point.label} on {dataset} has {said}")
        trial = Trial(name, point.label, dataset, 0, source, entry, study.budget, bindings, point.bindings)
        for search in here.tuning_points(point.bindings) if here.tune else ():
            point_here = trial.point + as_text(search.bindings.items())
            axes = {**point.bindings, **search.bindings}
            tuning = replace(trial, point=point_here, axes=axes, role="tune", tuning=search.label)
            yield from resolve(tuning, here.tune_seeds)
        yield from resolve(trial, here.every_seed)


def _unique(plan: Plan) -> Plan:
    """The plan with each trial once: an axis may not affect a variant, and the base may be one of the values."""
    first: dict[str, Trial] = {}
    repeated = 0
    for trial in plan.trials:
        same = first.setdefault(trial.id, trial)
        if same.dataset != trial.dataset:
            raise UserError(
                f"{same.dataset!r} and {trial.dataset!r} come out as the same trial: something overrides the dataset; "
                f"choose with --set \"DATASETS=('{same.dataset}',)\" instead"
            )
        # If one axis changes at a time, its values include the base; that is not worth mentioning.
        repeated += same is not trial and same.axes.keys() == trial.axes.keys()
    return replace(plan, trials=tuple(first.values()), repeated=repeated)


def repeats(plan: Plan) -> str:
    """The message about combinations that do not need a training run of their own."""
    if plan.repeated == 1:
        return "1 combination has the same settings as another one and is trained once"
    return f"{plan.repeated} combinations have the same settings as another one and are trained once"
