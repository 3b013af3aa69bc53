"""Mistakes that only the whole plan of a study shows, on plans that are written down by hand."""

import pytest

from gredkit.ablation.refused import (
    refuse_axes_without_effect,
    refuse_overridden_axes,
    refuse_several_metrics,
    refuse_unused,
)
from gredkit.config.source import Source
from gredkit.config.study import Study
from gredkit.errors import UserError
from gredkit.trials.trial import Trial

LRU = {"model": "gred", "encoder": "lru", "encoders.lru.mode": "scan", "K": 4}
GIN = {"model": "gin", "models.gin.dim": 8, "K": 4}


def trial(name="a", settings=LRU, dataset="digits", metric="accuracy", **axes):
    return Trial("tiny", name, dataset, 0, Source(()), axes=axes, id=name, settings=settings, metric=metric)


@pytest.mark.parametrize(
    "study",
    [
        Study(axes={"K": (1, 2)}),
        Study(tune={"K": (1, 2)}),
        Study(replicates={"K": (1, 2)}),
        Study(variants={"near": {"K": 1}, "far": {"K": 2}}),
    ],
    ids=["axes", "tune", "replicates", "variants"],
)
def test_an_axis_is_not_set_once_more_on_the_command_line(study):
    with pytest.raises(UserError, match=r"'K' is an axis of this study: --set study\.axes or the macro"):
        refuse_overridden_axes(study, Source((), ("EPOCHS = 3", "K=3")))
    refuse_overridden_axes(study, Source((), ("EPOCHS = 3", "models.gred.dim = 8")))


@pytest.mark.parametrize(
    ("trials", "binding", "said"),
    [
        ([trial()], "encoders.lru.mode = 'loop'", ""),
        ([trial(), trial("b", GIN)], "encoders.lru.mode = 'loop'", ""),
        ([trial()], "fit.epochs = 3", ""),
        ([trial()], "variant.encoder = 'lru'", ""),
        ([trial()], "encoders.rnn.state_dim = 3", "no trial has variant.encoder = 'rnn'"),
        ([trial()], "models.gin.dim = 3", "no trial has variant.model = 'gin'"),
        ([trial("b", GIN)], "encoders.lru.mode = 'loop'", "the model 'gin' has no part 'encoder'"),
        ([trial("b", GIN)], "variant.encoder = 'lru'", "the model 'gin' has no part 'encoder'"),
    ],
)
def test_what_no_model_has_is_named(trials, binding, said):
    source = Source((), (binding,))
    if not said:
        return refuse_unused(trials, source)
    with pytest.raises(UserError) as caught:
        refuse_unused(trials, source)
    assert str(caught.value) == f"{binding.partition(' =')[0]!r} changes nothing: {said}"


def test_an_axis_needs_a_trial_of_its_own_that_has_the_setting():
    refuse_unused([trial(**{"encoders.lru.mode": "scan"}), trial("b", GIN)], Source(()))
    with pytest.raises(
        UserError, match=r"'encoders\.lru\.mode' changes nothing: the model 'gin' has no part 'encoder'"
    ):
        refuse_unused([trial(), trial("b", GIN, **{"encoders.lru.mode": "scan"})], Source(()))
    with pytest.raises(UserError, match=r"'encoders\.rnn\.dim' changes nothing: no trial with it has variant\.encoder"):
        refuse_unused([trial(), trial("b", **{"encoders.rnn.dim": 3})], Source(()))


def test_an_axis_whose_values_give_the_same_trials_has_no_effect():
    refuse_axes_without_effect([trial("a", EPOCHS=1), trial("b", EPOCHS=2)])
    refuse_axes_without_effect([trial("a", EPOCHS=1)])
    with pytest.raises(UserError, match="the axis 'EPOCHS' changes nothing: something overrides what it sets"):
        refuse_axes_without_effect([trial("a", EPOCHS=1), trial("a", EPOCHS=2)])


def test_an_axis_may_have_an_effect_on_some_variants_only():
    trials = [trial("a", encoder="mean", mode=1), trial("a", encoder="mean", mode=2)]
    trials += [trial("b", encoder="lru", mode=1), trial("c", encoder="lru", mode=2)]
    refuse_axes_without_effect(trials)
    with pytest.raises(UserError, match="the axis 'mode' changes nothing"):
        refuse_axes_without_effect(trials[:2] + trials[2:3])


def test_no_model_reads_hops():
    trials = [trial("a", {**GIN, "K": K}, K=K) for K in (1, 2)]
    with pytest.raises(UserError, match="the axis 'K' changes nothing: no model of this study reads hops"):
        refuse_axes_without_effect(trials)


def test_scores_of_different_metrics_are_not_compared():
    both = [trial("a"), trial("b", metric="macro_f1")]
    with pytest.raises(UserError, match="on digits have different metrics, accuracy and macro_f1, which cannot be"):
        refuse_several_metrics(both)
    refuse_several_metrics([trial("a"), trial("b", dataset="zinc", metric="mae")])
