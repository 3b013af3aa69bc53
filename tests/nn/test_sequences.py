"""What stands at place k: every extractor against an independent dense computation, and what all have in common."""

import copy

import numpy as np
import torch
from helpers.graphs import any_graphs, graph, hops_of
from hypothesis import given, settings
from hypothesis import strategies as st

from gredkit import add_hops
from gredkit.data.hops.random import RandomHops

FEW = settings(max_examples=25, deadline=None)


# random_hops


@FEW
@given(any_graphs(), st.one_of(st.integers(0, 4), st.none()), st.integers(0, 2))
def test_random_hops_have_the_sizes_of_the_hops_and_no_node_twice(data, K, seed):
    real, drawn = add_hops(data, K), RandomHops(K, seed).add_to(data)
    again = RandomHops(K, seed).add_to(copy.copy(data))
    assert torch.equal(drawn.hop_set_member, again.hop_set_member)
    for v, (theirs, ours) in enumerate(zip(hops_of(real), hops_of(drawn), strict=True)):
        assert [len(hop) for hop in ours] == [len(hop) for hop in theirs]
        assert ours[0] == [v]
        every = [u for hop in ours for u in hop]
        assert len(set(every)) == len(every)
    assert torch.equal(drawn.hop_K, real.hop_K)
    assert np.array_equal(drawn.hop_profile, real.hop_profile)


def test_random_hops_are_others_than_the_hops_and_depend_on_seed_and_graph():
    path = graph(12, [(v, v + 1) for v in range(11)])
    turned = graph(12, [(v, (v + 1) % 12) for v in range(12)])
    drawn = [hops_of(RandomHops(3, seed).add_to(path)) for seed in (0, 1)]
    assert drawn[0] != drawn[1]
    assert drawn[0] != hops_of(add_hops(path, 3))
    rings = [hops_of(RandomHops(3).add_to(one)) for one in (turned, graph(13, [(v, (v + 1) % 13) for v in range(13)]))]
    assert rings[0] != rings[1][:12]


def test_every_place_of_a_random_sequence_can_have_any_other_node():
    ring = graph(6, [(v, (v + 1) % 6) for v in range(6)])
    seen = {u for seed in range(60) for u in hops_of(RandomHops(1, seed).add_to(ring))[2][1]}
    assert seen == {0, 1, 3, 4, 5}
