"""The kernels of recurrences and of attention against the same formula in PyTorch, values and gradients."""

from itertools import pairwise

import pytest
import torch
from helpers.kernel_checks import DIMS, ROWS, SEEDS, assert_same, dense, normal, random_index
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn import functional as F

from gredkit.nn.kernels import encoder_ops, encoders
from gredkit.nn.kernels import index as kernel_index
from gredkit.nn.kernels.encoders import GATES, Encoder
from gredkit.nn.kernels.states import States

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


def plain_recurrent(kind, z, grid, mask, W_ih, W_hh, b_ih, b_hh, W_out, b_out):
    """From the last hop of each sequence to its first."""
    n = W_hh.shape[1]
    inside = torch.zeros_like(b_hh)
    inside[-n:] = b_hh[-n:] if kind == "GRU" else 0
    p = F.linear(z, W_ih, b_ih + b_hh - inside)
    s = c = p.new_zeros(len(grid), n)
    for k in reversed(range(grid.shape[1])):
        is_there = mask[:, k]
        after = plain_step(kind, p[grid[:, k]], s, c, W_hh, inside[-n:])
        s, c = (torch.where(is_there, new, old) for new, old in zip(after, (s, c), strict=True))
    return F.linear(s + 0 * W_hh.sum(), W_out, b_out)


def recurrent_weights(gates, n, d):
    across = normal(gates * n, n, scale=n**-0.5)
    (into, bias), bias_of_state = dense(gates * n, d), normal(gates * n)
    return [into, across, bias, bias_of_state, *dense(d, n)]


@pytest.mark.usefixtures("many_parts")
@pytest.mark.parametrize("kind", GATES)
@given(DIMS, st.integers(1, 20), ROWS, st.integers(3, 40), st.integers(1, 7), st.booleans(), SEEDS)
@settings(max_examples=40)
def test_recurrent(kind, n, d, nodes, more, width, is_kept, seed):
    """With records of the forward pass, and with states that the backward pass computes again."""
    torch.manual_seed(seed)
    sets, gates = 2 * nodes + more, GATES[kind]
    index, grid, mask = random_index(nodes, sets, width)
    states = States(index)
    inputs = [normal(sets, d), *recurrent_weights(gates, n, d)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(encoders, "MOST_KEPT", 2**40 if is_kept else 0)
        assert_same(
            lambda z, *weights: encoder_ops.encoder(Encoder(kind, states), z, index, weights),
            lambda z, *weights: plain_recurrent(kind, z, grid, mask, *weights),
            inputs,
        )


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("kind", GATES)
def test_a_recurrence_has_the_same_bits_with_any_number_of_threads_and_without_records(kind, threads, monkeypatch):
    torch.manual_seed(1)
    n, gates = 20, GATES[kind]
    index, _, _ = random_index(500, 1100, 6)
    states = States(index)
    z, weights = normal(1100, 30), recurrent_weights(gates, n, 30)

    def with_gradients():
        y = encoder_ops.encoder(Encoder(kind, states), z, index, weights)
        return [y, *torch.autograd.grad(y, [z, *weights], y.detach().cos())]

    expected, before = with_gradients(), torch.get_num_threads()
    try:
        torch.set_num_threads(threads)
        found = with_gradients()
        monkeypatch.setattr(encoders, "MOST_KEPT", 0)
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
    for own, before in zip(states.sets[states.read].tolist(), states.parents.tolist(), strict=True):
        read.append((*(read[before] if before >= 0 else ()), own))
    bounds = index.start.tolist()
    sequences = [tuple(index.sets[a:b].flip(0).tolist()) for a, b in pairwise(bounds)]
    assert [read[last] for last in states.last.tolist()] == sequences
    ends: list[tuple[int, ...]] = []
    for a, b in pairwise(index.cuts.tolist()):
        ends += {one[: i + 1] for one in sequences[a:b] for i in range(len(one))}
    assert sorted(ends) == sorted(read)
    listed = [states.sets[a:b].tolist() for a, b in pairwise(states.begin.tolist())]
    of_parts = [index.sets[bounds[a] : bounds[b]].tolist() for a, b in pairwise(index.cuts.tolist())]
    assert list(map(sorted, listed)) == [sorted(set(sets)) for sets in of_parts]


@pytest.mark.usefixtures("many_parts")
@given(st.integers(1, 9), st.sampled_from([4, 7, 8, 16]), DIMS, ROWS, st.integers(3, 40), st.integers(1, 7), SEEDS)
@settings(max_examples=60)
def test_attention(size, heads, d, nodes, more, width, seed):
    """Also with heads that the kernels add, which read nothing."""
    torch.manual_seed(seed)
    sets = 2 * nodes + more
    index, grid, mask = random_index(nodes, sets, width)

    def plain(z, *weights):
        def projected(i):
            return F.linear(z, *weights[2 * i : 2 * i + 2]).unflatten(-1, (heads, size))

        q, key, value = projected(0)[index.targets], projected(1)[grid], projected(2)[grid]
        scores = torch.einsum("nhe,nkhe->nkh", q, key) * size**-0.5
        share = scores.masked_fill(~mask, -torch.inf).softmax(1)
        return F.linear(torch.einsum("nkh,nkhe->nhe", share, value).flatten(1), *weights[6:])

    inputs = [normal(sets, d), *(one for _ in range(3) for one in dense(size * heads, d)), *dense(d, size * heads)]
    of = Encoder("Attention", heads=heads)
    assert_same(lambda z, *weights: encoder_ops.encoder(of, z, index, weights), plain, inputs)


def test_attention_to_scores_far_apart_is_finite():
    torch.manual_seed(0)
    index, _, _ = random_index(50, 103, 5)
    whole, zero = torch.eye(16), torch.zeros(16)
    for scale in (100.0, 1e18):
        z = torch.randn(103, 16) * scale
        read = encoder_ops.encoder(Encoder("Attention", heads=8), z, index, [whole, zero] * 4)
        assert read.isfinite().all()
        assert read.abs().max() <= z.abs().max()


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_attention_has_the_same_bits_with_any_number_of_threads(threads):
    torch.manual_seed(1)
    index, _, _ = random_index(500, 1100, 6)
    z, weights = normal(1100, 30), [*(one for _ in range(3) for one in dense(24, 30)), *dense(30, 24)]

    def with_gradients():
        y = encoder_ops.encoder(Encoder("Attention", heads=8), z, index, weights)
        return [y, *torch.autograd.grad(y, [z, *weights], y.detach().cos())]

    expected, before = with_gradients(), torch.get_num_threads()
    try:
        torch.set_num_threads(threads)
        found = with_gradients()
    finally:
        torch.set_num_threads(before)
    assert all(map(torch.equal, found, expected))
