"""Which trials are due after which scores: all that a list of seeds says, or as many as open comparisons need."""

from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gredkit.ablation.plan import Plan
from gredkit.ablation.rounds import comparable, largest, least, looks_of, rounds, size
from gredkit.config.looks import looks_until
from gredkit.config.source import Source
from gredkit.trials.trial import Trial

DATASETS = {"rings": 3, "digits": 2, "alone": 1, "fixed": 2}  # how many variants each has
MOST = st.integers(5, 40)
VARIANTS = [(dataset, f"v{i}") for dataset, count in DATASETS.items() for i in range(count)]
CHOICES = st.lists(st.sets(st.sampled_from([one for one in VARIANTS if one[0] in ("rings", "digits")])), max_size=8)


def plan_of(most, final=()):
    looks = {dataset: looks_until(most) for dataset in DATASETS if dataset != "fixed"}
    return Plan("tiny", Source(()), tuple(trials(most)), final=final, looks=looks)


def trials(most):
    for dataset, variant in VARIANTS:
        for seed in range(3 if dataset == "fixed" else most):
            yield Trial("tiny", variant, dataset, seed, Source(()), id=f"{dataset} {variant} {seed}")


def trained(plan, choices):
    """The rounds, if after the first one the first choice goes on, …."""
    return list(rounds(plan, lambda done: choices[done.number - 1] if done.number <= len(choices) else set()))


def seeds(some):
    return Counter((trial.dataset, trial.variant) for trial in some)


def ids(some):
    return {trial.id for trial in some}


def test_looks_have_half_as_many_seeds_again_and_the_last_one_has_the_most():
    assert looks_until(12) == (5, 8, 12)
    assert looks_until(5) == (5,)
    assert looks_until(9) == (5, 8, 9)
    assert looks_until(20) == (5, 8, 12, 18, 20)


@given(MOST)
def test_looks_grow_from_five_to_the_most(most):
    looks = looks_until(most)
    assert looks[0] == 5
    assert looks[-1] == most
    assert all(a < b <= 1.5 * a + 1 for a, b in pairwise(looks))


def test_a_list_of_seeds_is_one_round():
    plan = Plan("tiny", Source(()), tuple(trials(7)))
    (only,) = rounds(plan, lambda done: pytest.fail("nobody asks what is open"))
    assert only.trials == only.due == plan.trials
    assert str(only) == ""
    assert size(plan) == f"{len(plan.trials)} trials"


def test_tuning_is_one_round():
    plan = plan_of(12, final=tuple(trials(12)))
    (only,) = rounds(plan, lambda done: pytest.fail("nobody asks what is open"))
    assert only.due == plan.trials


@given(MOST, CHOICES)
def test_only_those_that_go_on_get_more_seeds(most, choices):
    plan, looks = plan_of(most), looks_until(most)
    found = trained(plan, choices)
    first = {one: 3 if one[0] == "fixed" else 5 for one in VARIANTS}
    assert seeds(found[0].trials) == first
    for before, after, chosen in zip(found, found[1:], choices, strict=False):
        assert after.seeds == looks[after.number - 1]
        assert set(seeds(after.trials)) <= chosen
        assert seeds(after.due) == seeds(before.due) | dict.fromkeys(chosen, after.seeds)
    assert len(found) <= len(looks)
    assert len(found) == len(looks) or len(choices) < len(found) or not choices[len(found) - 1]


@given(MOST, CHOICES)
def test_no_trial_is_due_twice_and_seeds_are_the_first_ones(most, choices):
    plan = plan_of(most)
    found = trained(plan, choices)
    new = [trial.id for one in found for trial in one.trials]
    assert len(set(new)) == len(new)
    assert ids(found[-1].due) == set(new)
    assert [trial for trial in plan.trials if trial.id in set(new)] == list(found[-1].due)
    for one, count in seeds(found[-1].due).items():
        assert {trial.seed for trial in found[-1].due if (trial.dataset, trial.variant) == one} == set(range(count))


@given(MOST, CHOICES)
def test_what_is_due_lies_between_the_least_and_the_most(most, choices):
    plan = plan_of(most)
    due = ids(trained(plan, choices)[-1].due)
    assert ids(least(plan)) <= due <= ids(largest(plan))
    assert ids(largest(plan)) == ids(trial for trial in plan.trials if trial.dataset != "alone" or trial.seed < 5)


@given(MOST, CHOICES, st.data())
def test_who_begins_anew_comes_to_the_same_place(most, choices, data):
    plan = plan_of(most)
    whole = trained(plan, choices)
    known = {one.number: choices[one.number - 1] for one in whole if one.number <= len(choices)}
    stopped = data.draw(st.integers(1, len(whole)))
    again = rounds(plan, lambda done: known.get(done.number, set()))
    assert [next(again) for _ in range(stopped)] == whole[:stopped]


def test_without_a_comparison_there_is_one_round():
    plan = plan_of(12)
    alone = Plan("tiny", Source(()), tuple(one for one in plan.trials if one.dataset == "alone"), looks=plan.looks)
    assert not comparable(alone)
    assert looks_of(alone) == (5,)
    assert size(alone) == "5 trials"
    (only,) = rounds(alone, lambda done: {("alone", "v0")})
    assert str(only) == ""


def test_a_round_says_which_one_it_is():
    plan = plan_of(12)
    assert [str(one) for one in rounds(plan, lambda done: comparable(plan))] == [
        "round 1 of at most 3 (5 seeds)",
        "round 2 of at most 3 (8 seeds)",
        "round 3 of at most 3 (12 seeds)",
    ]
    assert size(plan) == "36 to 71 trials"
