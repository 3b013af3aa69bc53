"""Mistakes that only the whole plan of a study shows; each ends in one sentence before anything is trained."""

from gredkit.config.source import Source
from gredkit.config.study import Study
from gredkit.errors import UserError
from gredkit.nn.composition import PARTS
from gredkit.trials.trial import Trial

CHOSEN = {registry.plural: kind for kind, registry in reversed(PARTS.items())} | {"models": "model"}


def refuse_overridden_axes(study: Study, source: Source) -> None:
    axes = {
        *study.axes,
        *study.tune,
        *study.replicates,
        *(binding for bundle in study.variants.values() for binding in bundle),
    }
    for binding in source.bindings:
        if (name := binding.partition("=")[0].strip()) in axes:
            raise UserError(f"{name!r} is an axis of this study: --set study.axes or the macro that lists its values")


def refuse_unused(trials: list[Trial], source: Source) -> None:
    """Raise for a part or a setting of an axis or of the command line that no model of the study has."""
    given = (binding.partition("=")[0].strip() for binding in source.bindings)
    for name in dict.fromkeys([*(axis for trial in trials for axis in trial.axes), *given]):
        own = [trial for trial in trials if name in trial.axes] or trials
        owner, _, key = name.rpartition(".")
        plural, _, component = owner.partition(".")
        if owner == "variant" and key in PARTS:
            kind, setting = key, key
        elif plural in CHOSEN and component:
            kind, setting = CHOSEN[plural], name
        else:
            continue
        if any(setting in trial.settings for trial in own):
            continue
        models = [repr(model) for model in dict.fromkeys(trial.settings["model"] for trial in own)]
        if any(kind in trial.settings for trial in own):
            why = f"no trial {'with it ' if own is not trials else ''}has variant.{kind} = {component!r}"
        else:
            have = "model {} has" if len(models) == 1 else "models {} have"
            why = f"the {have.format(' and '.join(models))} no part {kind!r}"
        raise UserError(f"{name!r} changes nothing: {why}")


def refuse_axes_without_effect(trials: list[Trial]) -> None:
    """Raise if all values of an axis give the same trials: then something overrides the axis."""
    for axis in {name: None for trial in trials for name in trial.axes}:
        same_but_for_it: dict[str, dict[str, set[str]]] = {}
        for trial in trials:
            if axis in trial.axes:
                others = {name: value for name, value in trial.axes.items() if name != axis}
                rest = repr((trial.dataset, trial.role, trial.seed, trial.replicate, sorted(others.items())))
                same_but_for_it.setdefault(rest, {}).setdefault(repr(trial.axes[axis]), set()).add(trial.id)
        compared = [list(values.values()) for values in same_but_for_it.values() if len(values) > 1]
        if compared and all(len(set.union(*ids)) == 1 for ids in compared):
            reads = {repr(trial.settings["K"]) for trial in trials if axis in trial.axes}
            why = "something overrides what it sets"
            if axis in ("K", "trial.K") and len(reads) > 1:
                why = "no model of this study reads hops"
            raise UserError(f"the axis {axis!r} changes nothing: {why}")


def refuse_several_metrics(trials: list[Trial]) -> None:
    """Scores of different metrics cannot be compared."""
    for dataset in {trial.dataset: None for trial in trials}:
        metrics = sorted({trial.metric for trial in trials if trial.dataset == dataset})
        if len(metrics) > 1:
            raise UserError(
                f"the trials on {dataset} have different metrics, {' and '.join(metrics)}, which cannot be compared: "
                f"set trial.metric once, outside axes and variants"
            )
