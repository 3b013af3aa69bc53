"""What a plan costs: how long it takes on so many workers, and at best."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gredkit.ablation.costs import Cost, span
from gredkit.ablation.launchers.base import Needs
from gredkit.ablation.rounds import Round
from gredkit.config.source import Source
from gredkit.trials.trial import Trial

TIMES = st.lists(st.floats(0.1, 1000), max_size=30)


@given(TIMES, st.integers(1, 40))
def test_workers_are_never_idle_while_a_trial_waits(times, workers):
    found, longest = span(times, workers), max(times, default=0.0)
    assert max(longest, sum(times) / workers) <= found * (1 + 1e-9)
    assert found <= (sum(times) / workers + longest) * (1 + 1e-9)
    assert span(times, 1) == pytest.approx(sum(times))
    assert span(times, len(times) + 1) == pytest.approx(longest)


def test_each_round_waits_for_the_one_before():
    trials = [Trial("tiny", "lru", "rings", seed, Source(()), id=str(seed)) for seed in range(5)]
    first = Round(1, 2, 3, tuple(trials[:3]), tuple(trials[:3]))
    second = Round(2, 2, 5, tuple(trials[3:]), tuple(trials))
    hours = {"0": 3, "1": 1, "2": 1, "3": 2, "4": 2}
    found = Cost.of([first, second], 2, lambda one: 3600 * hours[one.id], lambda one: Needs(cores=4, gpus=one.seed % 2))
    assert found.span == 3600 * (3 + 2)  # 3 beside 1 + 1; then 2 beside 2
    assert found.path == 3600 * (3 + 2)
    assert found.cores == 3600 * 4 * 9
    assert found.gpus == 3600 * (1 + 2)
    assert Cost.of([first, second], 1, lambda one: 1.0, lambda one: Needs(1)) == Cost(5.0, 2.0, 5.0, 0.0)


def test_what_a_trial_is_given_in_words():
    assert str(Needs(1)) == "1 core"
    assert str(Needs(4, 2, 16.0, 24.0)) == "4 cores, 2 GPUs, 16 GB of memory, 24 h"
