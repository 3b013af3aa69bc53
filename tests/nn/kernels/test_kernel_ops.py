"""Every kernel against the same formula in PyTorch, values and gradients, in double precision."""

from statistics import median

import pytest
import torch
from helpers.kernel_checks import DIMS, ROWS, SEEDS, TOLERANCE, assert_same, dense, errors, normal, random_index
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn import functional as F

from gredkit.nn.incidence import Incidence, starts
from gredkit.nn.kernels import ops
from gredkit.nn.kernels.build import library
from gredkit.nn.kernels.encoders import Encoder
from gredkit.nn.kernels.index import Index, Sums

pytestmark = pytest.mark.needs("compiler")

GELUS = st.sampled_from(["none", "tanh"])


def test_there_are_kernels_here():
    assert library() is not None  # or the tests below would compare nothing


@given(DIMS, ROWS, st.integers(3, 40), SEEDS)
@settings(max_examples=40)
def test_set_sum(d, rows, columns, seed):
    torch.manual_seed(seed)
    sizes = torch.randint(0, 5, (rows,))
    listed, x = torch.randint(columns, (int(sizes.sum()),)), torch.randn(columns, d)
    row = torch.repeat_interleave(torch.arange(rows), sizes)
    expected = torch.zeros(rows, d).double().index_add(0, row, x[listed].double())
    start = torch.cat([torch.zeros(1, dtype=torch.long), sizes.cumsum(0)])
    assert torch.allclose(ops.set_sum(x, Sums(start, listed, columns)).double(), expected, atol=1e-5)


def index_of(targets, rows):
    """An index in which the targets are these sets, and nothing else is read."""
    return Index(torch.arange(len(targets) + 1), targets, rows)


@given(DIMS, DIMS, ROWS, GELUS, SEEDS)
@settings(max_examples=40)
def test_set_mlp(d, m, rows, gelu, seed):
    torch.manual_seed(seed)
    targets = torch.randperm(rows)[: max(rows // 3, 1)]

    def fused(a, *weights):
        return ops.set_mlp(a, index_of(targets, rows), weights, gelu, 1e-2)

    assert_same(fused, lambda a, *weights: plain_rows(a, targets, gelu, *weights), [normal(rows, d), *of_rows(d, m)])


def of_rows(d, m):
    return [normal(d), normal(d), *dense(m, d), *dense(d, m), normal(d), normal(d)]


def plain_rows(a, targets, gelu, w, b, up, up_b, down, down_b, last_w, last_b):
    d = a.shape[1:]
    hidden = F.gelu(F.linear(F.layer_norm(a, d, w, b, 1e-2), up, up_b), approximate=gelu)
    x = a + F.linear(hidden, down, down_b)
    return F.layer_norm(x, d, last_w, last_b, 1e-2), x[targets]


@given(DIMS, ROWS, st.integers(3, 40), st.integers(1, 7), SEEDS)
@settings(max_examples=40)
def test_hop_filter(d, nodes, more, width, seed):
    torch.manual_seed(seed)
    sets = 2 * nodes + more
    index, grid, mask = random_index(nodes, sets, width)

    def plain(z, matrices):
        return torch.einsum("nki,kio->no", z[grid] * mask, matrices)

    assert_same(lambda z, m: ops.hop_filter(z, m, index), plain, [normal(sets, d), normal(width, d, d)])


@given(DIMS, ROWS, st.integers(3, 40), st.integers(1, 7), SEEDS)
@settings(max_examples=40)
def test_hop_scan(n, nodes, more, width, seed):
    torch.manual_seed(seed)
    sets = 2 * nodes + more
    index, grid, mask = random_index(nodes, sets, width)

    def plain(u, eigenvalues):
        powers = torch.complex(*eigenvalues) ** torch.arange(width)[:, None]
        state = (torch.complex(u[:, :n], u[:, n:])[grid] * mask * powers).sum(1)
        return torch.cat([state.real, state.imag], 1)

    eigenvalues = torch.polar(torch.rand(n), 6 * torch.rand(n))
    eigenvalues = torch.stack([eigenvalues.real, eigenvalues.imag]).requires_grad_()
    assert_same(lambda u, e: ops.hop_scan(u, e, index), plain, [normal(sets, 2 * n), eigenvalues])


@given(DIMS, DIMS, st.integers(1, 9), SEEDS)
@settings(max_examples=40)
def test_hop_matrices(n, d, width, seed):
    torch.manual_seed(seed)

    assert_same(
        lambda *inputs: ops.hop_matrices(width, *inputs), lambda *inputs: matrices_of(width, *inputs), recurrence(n, d)
    )


def matrices_of(width, nu, theta, gamma, in_re, in_im, out_re, out_im):
    k = torch.arange(width)[:, None]
    filtered = torch.exp(gamma + k * torch.complex(-nu.exp(), theta.exp()))[..., None] * torch.complex(in_re, in_im)
    return (torch.complex(out_re, out_im) @ filtered).real.mT


def recurrence(n, d):
    vectors = [torch.rand(n).log().requires_grad_(), (6 * torch.rand(n)).log().requires_grad_(), normal(n)]
    size = (n + d) ** -0.5
    return [*vectors, *(normal(*shape, scale=size) for shape in [(n, d), (n, d), (d, n), (d, n)])]


def layer_and_inputs(sizes, nodes, width, gelu, is_full, seed):
    """A layer by kernels, the same in PyTorch, and what both take."""
    torch.manual_seed(seed)
    d, m, n = sizes
    sets = 2 * nodes + 3
    index, grid, mask = random_index(nodes, sets, width)

    def plain(a, *weights):
        mlp, of_recurrence, glu = weights[:8], weights[8:15], weights[15:]
        z, x = plain_rows(a, index.targets, gelu, *mlp)
        y = torch.einsum("nki,kio->no", z[grid] * mask, matrices_of(width, *of_recurrence))
        return plain_gate(y, x, gelu, *glu)

    def fused(a, *weights):
        parts = ops.LayerWeights(weights[:8], weights[8:15], weights[15:])
        return ops.layers(a, index, None, Encoder("LRU", width=width), [parts], gelu, 1e-2, 0.0)

    glu = [*(dense(d, d) if is_full else ()), *dense(d, d)]
    return fused, plain, [normal(sets, d), *of_rows(d, m), *recurrence(n, d), *glu]


@given(st.tuples(DIMS, DIMS, DIMS), ROWS, st.integers(1, 7), GELUS, st.booleans(), SEEDS)
@settings(max_examples=40)
def test_layer(sizes, nodes, width, gelu, is_full, seed):
    assert_same(*layer_and_inputs(sizes, nodes, width, gelu, is_full, seed))


@pytest.mark.parametrize("gelu", ["none", "tanh"])
@pytest.mark.parametrize("is_full", [True, False])
def test_rounding_does_no_more_than_to_pytorch(gelu, is_full):
    ours, theirs = [], []
    for seed in range(30):
        fused, plain, inputs = layer_and_inputs((1 + seed % 20, 16, 8), 100, 5, gelu, is_full, seed)
        ours.append(max(errors(fused, plain, inputs)))
        theirs.append(max(errors(plain, plain, inputs)))
    assert median(ours) <= 1.5 * median(theirs)


@given(DIMS, ROWS, GELUS, st.booleans(), SEEDS)
@settings(max_examples=40)
def test_gate(d, nodes, gelu, is_full, seed):
    torch.manual_seed(seed)

    weights = [*(dense(d, d) if is_full else ()), *dense(d, d)]
    inputs = [normal(nodes, d), normal(nodes, d), *weights]
    assert_same(lambda y, x, *w: ops.gate(y, x, w, gelu, 0.0), lambda y, x, *w: plain_gate(y, x, gelu, *w), inputs)


def plain_gate(y, x, gelu, *weights):
    t = F.gelu(y, approximate=gelu)
    value = F.linear(t, *weights[:2]) if len(weights) == 4 else t
    return value * F.linear(t, *weights[-2:]).sigmoid() + x


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_the_layer_is_its_steps_with_any_number_of_threads(threads):
    """Dropout included; in each number of threads the same bits every time."""
    torch.manual_seed(0)
    d, m, n, nodes, width = 20, 12, 7, 300, 4
    index, _, _ = random_index(nodes, 2 * nodes + 3, width)
    mlp, of_recurrence, glu = of_rows(d, m), recurrence(n, d), [*dense(d, d), *dense(d, d)]
    a = normal(2 * nodes + 3, d)

    def at_once():
        weights = ops.LayerWeights(mlp, of_recurrence, glu)
        return ops.layers(a, index, None, Encoder("LRU", width=width), [weights], "none", 1e-6, 0.4)

    def step_by_step():
        z, x = ops.set_mlp(a, index, mlp, "none", 1e-6)
        return ops.gate(ops.hop_filter(z, ops.hop_matrices(width, *of_recurrence), index), x, glu, "none", 0.4)

    def with_gradients(function):
        torch.manual_seed(5)
        out = function()
        return [out, *torch.autograd.grad(out, [a, *mlp, *of_recurrence, *glu], out.detach().cos())]

    alone, before = with_gradients(step_by_step), torch.get_num_threads()
    try:
        torch.set_num_threads(threads)
        first, again, steps = with_gradients(at_once), with_gradients(at_once), with_gradients(step_by_step)
    finally:
        torch.set_num_threads(before)
    for one, other, stepped, wanted in zip(first, again, steps, alone, strict=True):
        assert torch.equal(one, other)
        assert torch.equal(one, stepped)
        assert (one - wanted).abs().max() <= TOLERANCE * wanted.abs().max()


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("is_full", [True, False])
def test_layers_at_once_are_the_layers_one_by_one(threads, is_full):
    torch.manual_seed(0)
    d, m, n, nodes, width, count = 20, 12, 7, 300, 4, 3
    num_sets = 2 * nodes + 3
    index, _, _ = random_index(nodes, num_sets, width)
    sizes = torch.randint(0, 4, (num_sets,))
    sets = Incidence(starts(sizes), torch.randint(nodes, (int(sizes.sum()),)), nodes)
    weights = [
        ops.LayerWeights(of_rows(d, m), recurrence(n, d), [*(dense(d, d) if is_full else ()), *dense(d, d)])
        for _ in range(count)
    ]
    h = normal(nodes, d)

    def one_by_one():
        out = h
        for layer in weights:
            out = ops.layers(sets.sum(out), index, None, Encoder("LRU", width=width), [layer], "tanh", 1e-6, 0.4)
        return out

    def with_gradients(function):
        torch.manual_seed(5)
        out = function()
        of = [h, *(one for layer in weights for one in layer.all)]
        return [out, *torch.autograd.grad(out, of, out.detach().cos())]

    before = torch.get_num_threads()
    try:
        torch.set_num_threads(threads)
        alone = with_gradients(one_by_one)
        at_once = with_gradients(
            lambda: ops.layers(h, index, sets, Encoder("LRU", width=width), weights, "tanh", 1e-6, 0.4)
        )
    finally:
        torch.set_num_threads(before)
    for one, other in zip(alone, at_once, strict=True):
        assert torch.equal(one, other)


@given(ROWS, st.integers(1, 40), SEEDS)
def test_transpose_is_a_stable_sort(rows, columns, seed):
    torch.manual_seed(seed)
    sizes = torch.randint(0, 5, (rows,))
    listed = torch.randint(columns, (int(sizes.sum()),))
    turned = Sums(starts(sizes), listed, columns).transposed()
    assert turned.num_columns == rows
    assert torch.equal(turned.start, starts(torch.bincount(listed, minlength=columns)))
    assert torch.equal(turned.columns, torch.repeat_interleave(torch.arange(rows), sizes)[listed.argsort(stable=True)])


@pytest.mark.parametrize("listed", [[0, 3], [-1, 0]])
def test_a_column_or_set_that_is_not_there_is_an_error(listed):
    start, listed = torch.tensor([0, 1, 2]), torch.tensor(listed)
    with pytest.raises(IndexError, match="a row that does not exist"):
        Sums(start, listed, 3)
    with pytest.raises(IndexError, match="a row that does not exist"):
        Index(start, listed, 3)


def test_gelu_far_from_zero_and_what_is_not_finite():
    y = torch.tensor([[-100.0, -20.0, -9.0, -4.0, 4.0, 9.0, 20.0, 100.0]])
    weights = (torch.zeros(8, 8), torch.full((8,), 50.0))  # a gate that is open
    for gelu in ("none", "tanh"):
        out = ops.gate(y, torch.zeros_like(y), weights, gelu, 0.0)
        expected = F.gelu(y.double(), approximate=gelu)
        assert torch.allclose(out.double(), expected, rtol=1e-5, atol=1e-7)
    for bad in (float("nan"), float("inf")):
        z, x = ops.set_mlp(
            torch.full((3, 4), bad), index_of(torch.arange(3), 3),
            (torch.ones(4), torch.zeros(4), torch.eye(4), torch.zeros(4), torch.eye(4), torch.zeros(4),
             torch.ones(4), torch.zeros(4)), "none", 1e-6,
        )  # fmt: skip
        assert not z.isfinite().any()
        assert not x.isfinite().any()


@pytest.mark.parametrize("p", [0.1, 0.5, 0.9])
def test_dropout_drops_its_share_and_keeps_the_mean(p):
    torch.manual_seed(0)
    nodes, d = 2000, 40
    y = torch.full((nodes, d), 8.0)  # gelu(8) = 8
    open_gate = (torch.zeros(d, d), torch.full((d,), 50.0))
    out = ops.gate(y, torch.zeros(nodes, d), open_gate, "none", p)  # two dropouts, one after the other
    is_there = out != 0
    assert is_there.float().mean().item() == pytest.approx((1 - p) ** 2, abs=0.01)
    assert out[is_there].unique().numel() == 1
    assert out[is_there][0].item() == pytest.approx(8 / (1 - p) ** 2, rel=1e-5)
    shares = is_there.float().mean(0)  # no column, row or neighbour is special
    assert shares.std() < 3 * ((1 - p) ** 2 / nodes) ** 0.5
    both = (is_there[:, 1:] & is_there[:, :-1]).float().mean().item()
    assert both == pytest.approx((1 - p) ** 4, abs=0.01)


def test_dropout_follows_the_seed_and_its_gradient_the_same_mask():
    d = 16
    weights = tuple(x.detach() for x in (*dense(d, d), *dense(d, d)))
    y, x = torch.randn(50, d), torch.randn(50, d)

    def out(y, seed=3):
        torch.manual_seed(seed)
        return ops.gate(y, x, weights, "tanh", 0.3)

    assert torch.equal(out(y), out(y))
    assert not torch.equal(out(y), out(y, seed=4))
    towards, into, step = torch.randn_like(y), torch.randn(50, d), 1e-2
    (slope,) = torch.autograd.grad(out(y.requires_grad_()), y, into)
    difference = (out(y + step * towards) - out(y - step * towards)).detach() / (2 * step)
    assert (slope * towards).sum().item() == pytest.approx((difference * into).sum().item(), rel=1e-2)


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_any_number_of_threads_gives_the_same_and_always_the_same_bits(threads):
    torch.manual_seed(1)
    before = torch.get_num_threads()
    index, _, _ = random_index(500, 1100, 6)
    z, matrices = normal(1100, 24), normal(6, 24, 24)
    expected = [x.clone() for x in _filter_and_gradients(z, matrices, index)]
    try:
        torch.set_num_threads(threads)
        first, again = _filter_and_gradients(z, matrices, index), _filter_and_gradients(z, matrices, index)
    finally:
        torch.set_num_threads(before)
    for one, other, wanted in zip(first, again, expected, strict=True):
        assert torch.equal(one, other)
        assert torch.allclose(one, wanted, rtol=1e-4, atol=1e-4)


def _filter_and_gradients(z, matrices, index):
    y = ops.hop_filter(z, matrices, index)
    return [y, *torch.autograd.grad(y, [z, matrices], y.detach().cos())]
