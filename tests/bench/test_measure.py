"""Timing, peaks of memory, exponents, and the time of parts."""

import time

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.profiler import ProfilerActivity, profile, record_function
from torch_geometric.data import Batch

from gredkit import GRED, GraphSpec, add_hops
from gredkit.bench.graphs import zinc
from gredkit.bench.growth import exponent
from gredkit.bench.measure import Timing, digits, interleave
from gredkit.bench.peak import apart, forget_peak, in_use, peak
from gredkit.bench.profile import MARK, STEP, by_part, marked
from gredkit.nn.aggregators.sum import SumAggregator

NAP = 0.02


def test_contestants_take_turns_after_a_warm_up():
    calls: list[str] = []
    timings = interleave({name: lambda name=name: calls.append(name) for name in "ab"}, repeats=3, warmup=2)
    assert {name: len(timing.seconds) for name, timing in timings.items()} == {"a": 3, "b": 3}
    assert len(calls) == 10
    rounds = [calls[i : i + 2] for i in range(0, 10, 2)]
    assert all(sorted(pair) == ["a", "b"] for pair in rounds)
    assert rounds[0] == rounds[2] == rounds[4] != rounds[1] == rounds[3]


def test_median_and_quartiles():
    timing = Timing((5.0, 1.0, 2.0, 3.0, 100.0))
    assert timing.median == 3.0
    assert timing.quartiles == (2.0, 5.0)
    assert timing.per(2).median == 1.5
    assert Timing((4.0,)).quartiles == (4.0, 4.0)
    assert [digits(x) for x in (0.01234, 1.0, 12.345, 123.4, 1234.5)] == ["0.0123", "1.00", "12.3", "123", "1234"]


@given(power=st.floats(0, 3), factor=st.floats(0.1, 10), count=st.integers(2, 9))
def test_the_exponent_of_a_power(power, factor, count):
    work = [10.0 * 2**i for i in range(count)]
    assert exponent(work, [factor * w**power for w in work]) == pytest.approx(power, abs=1e-6)


def peaks_of_two_arrays(megabytes):
    """What a process counts while it holds an array, and after it has let go of it and taken a smaller one."""
    before = in_use()
    large = np.ones(megabytes * 125_000)
    del large
    first = peak() - before
    forget_peak()
    return before, first, peak() - before


def test_the_peak_of_a_process_of_its_own():
    held = np.ones(400 * 125_000)  # the child must not count what its parent holds
    before, first, second = apart(peaks_of_two_arrays, 200)
    assert 190e6 < first < 300e6
    assert second < 100e6
    assert peak() > 400e6
    assert before < peak()
    assert held[0] == 1


class SlowBackward(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, grad):
        time.sleep(2 * NAP)
        return grad


class SlowAggregator(SumAggregator):
    """It sleeps once on the way there and twice on the way back."""

    def forward(self, h, hops):
        time.sleep(NAP)
        return SlowBackward.apply(super().forward(h, hops))


def test_time_is_charged_to_the_part_that_spends_it():
    spec = GraphSpec(nodes=(28,), outputs=1)
    model = GRED(spec, dim=8, layers=3, aggregator=SlowAggregator)
    batch = Batch.from_data_list([add_hops(graph, 2) for graph in zinc(2)])
    model(batch).sum().backward()
    with marked(model), profile(activities=[ProfilerActivity.CPU]) as profiler, record_function(MARK + STEP):
        model(batch).sum().backward()
    spent = by_part(profiler.events())
    forward, backward = spent["layer: aggregator"]
    assert forward >= 3e6 * NAP
    assert backward >= 6e6 * NAP
    whole = sum(event.time_range.elapsed_us() for event in profiler.events() if event.name == MARK + STEP)
    assert sum(map(sum, spent.values())) == pytest.approx(whole)
    assert not any("forward" in vars(module) for module in model.modules())
