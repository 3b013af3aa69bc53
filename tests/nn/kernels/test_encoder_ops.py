"""The kernels of recurrences and of attention against the same formula in PyTorch, values and gradients."""

from itertools import pairwise

import pytest
import torch
from helpers.kernel_checks import DIMS, ROWS, SEEDS, assert_same, normal, random_index
from hypothesis import given, settings
from hypothesis import strategies as st

from gredkit.nn.kernels import index as kernel_index
from gredkit.nn.kernels import ops, recurrent
from gredkit.nn.kernels.recurrent import KINDS, States

pytestmark = pytest.mark.needs("compiler")


@pytest.fixture(scope="module")
def many_parts():
    """Parts of few nodes, so that small examples have several of them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kernel_index, "APART", 8)
        yield


def plain_step(kind, p, s, c, U, b):
    """The next state and cell from the inputs of the gates, as PyTorch's documentation writes them."""
    if kind == "RNN":
        return (p + s @ U.T).tanh(), c
    if kind == "LSTM":
        i, f, g, o = (p + s @ U.T).chunk(4, 1)
        c = f.sigmoid() * c + i.sigmoid() * g.tanh()
        return o.sigmoid() * c.tanh(), c
    from_r, from_z, from_n = (s @ U.T).chunk(3, 1)
    r, z, n = p.chunk(3, 1)
    new = (n + (r + from_r).sigmoid() * (from_n + b)).tanh()
    z = (z + from_z).sigmoid()
    return (1 - z) * new + z * s, c


def plain_recurrent(kind, p, U, b, grid, mask):
    """From the last hop of each sequence to its first."""
    s = c = p.new_zeros(len(grid), len(b))
    for k in reversed(range(grid.shape[1])):
        is_there = mask[:, k]
        after = plain_step(kind, p[grid[:, k]], s, c, U, b)
        s, c = (torch.where(is_there, new, old) for new, old in zip(after, (s, c), strict=True))
    return s + 0 * (b.sum() + U.sum())


@pytest.mark.usefixtures("many_parts")
@pytest.mark.parametrize("kind", KINDS)
@given(DIMS, ROWS, st.integers(3, 40), st.integers(1, 7), st.booleans(), SEEDS)
@settings(max_examples=40)
def test_recurrent(kind, n, nodes, more, width, is_kept, seed):
    """With records of the forward pass, and with states that the backward pass computes again."""
    torch.manual_seed(seed)
    sets, gates = 2 * nodes + more, KINDS[kind][1]
    index, grid, mask = random_index(nodes, sets, width)
    states = States(index)
    inputs = [normal(sets, gates * n), normal(gates * n, n, scale=n**-0.5), normal(n)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(recurrent, "MOST_KEPT", 2**40 if is_kept else 0)
        assert_same(
            lambda p, U, b: ops.recurrent(kind, p, U, b, states),
            lambda p, U, b: plain_recurrent(kind, p, U, b, grid, mask),
            inputs,
        )


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("kind", KINDS)
def test_a_recurrence_has_the_same_bits_with_any_number_of_threads_and_without_records(kind, threads, monkeypatch):
    torch.manual_seed(1)
    n, gates = 20, KINDS[kind][1]
    index, _, _ = random_index(500, 1100, 6)
    states = States(index)
    inputs = p, U, b = normal(1100, gates * n), normal(gates * n, n, scale=0.2), normal(n)

    def with_gradients():
        s = ops.recurrent(kind, p, U, b, states)
        return [s, *torch.autograd.grad(s, inputs, s.detach().cos())]

    expected, before = with_gradients(), torch.get_num_threads()
    try:
        torch.set_num_threads(threads)
        found = with_gradients()
        monkeypatch.setattr(recurrent, "MOST_KEPT", 0)
        again = with_gradients()
    finally:
        torch.set_num_threads(before)
    for one, other, wanted in zip(found, again, expected, strict=True):
        assert torch.equal(one, wanted)
        assert torch.equal(other, wanted)


@pytest.mark.usefixtures("many_parts")
@given(ROWS, st.integers(3, 40), st.integers(1, 7), SEEDS)
@settings(max_examples=60)
def test_states_are_the_ends_of_sequences_each_listed_once(nodes, more, width, seed):
    torch.manual_seed(seed)
    index, _, _ = random_index(nodes, 2 * nodes + more, width)
    states = States(index)
    read: list[tuple[int, ...]] = []  # by each state, from the first set on
    for own, before in zip(states.sets.tolist(), states.parents.tolist(), strict=True):
        read.append((*(read[before] if before >= 0 else ()), own))
    bounds = index.start.tolist()
    sequences = [tuple(index.sets[a:b].flip(0).tolist()) for a, b in pairwise(bounds)]
    assert [read[last] for last in states.last.tolist()] == sequences
    ends: list[tuple[int, ...]] = []
    for a, b in pairwise(index.cuts.tolist()):
        ends += {one[: i + 1] for one in sequences[a:b] for i in range(len(one))}
    assert sorted(ends) == sorted(read)


@pytest.mark.usefixtures("many_parts")
@given(st.integers(1, 9), st.sampled_from([8, 16]), ROWS, st.integers(3, 40), st.integers(1, 7), SEEDS)
@settings(max_examples=40)
def test_attention(size, heads, nodes, more, width, seed):
    torch.manual_seed(seed)
    sets = 2 * nodes + more
    index, grid, mask = random_index(nodes, sets, width)

    def plain(q, kv):
        key, value = (x[grid].unflatten(-1, (size, heads)) for x in kv.chunk(2, 1))
        scores = torch.einsum("neh,nkeh->nkh", q.unflatten(-1, (size, heads)), key)
        weights = scores.masked_fill(~mask, -torch.inf).softmax(1)
        return torch.einsum("nkh,nkeh->neh", weights, value).flatten(1)

    inputs = [normal(nodes, size * heads), normal(sets, 2 * size * heads)]
    assert_same(lambda q, kv: ops.attention(heads, q, kv, index), plain, inputs)


def test_attention_to_scores_far_apart_is_finite():
    torch.manual_seed(0)
    index, _, _ = random_index(50, 103, 5)
    for scale in (100.0, 1e18):
        q, kv = normal(50, 16, scale=scale), normal(103, 32, scale=scale)
        read = ops.attention(8, q, kv, index)
        assert read.isfinite().all()
        assert read.abs().max() <= kv.abs().max()
