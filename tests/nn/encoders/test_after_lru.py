"""The encoders that came after the LRU: each equals its recurrence, written out one sequence at a time."""

import cmath
import math
from collections.abc import Callable
from functools import partial

import pytest
import torch
from helpers.checks import stirred
from helpers.graphs import from_networkx, hop_batches, index_of, long_graph, sequences_of, small_graphs
from hypothesis import given, settings
from hypothesis import strategies as st
from networkx import path_graph
from torch import Tensor, nn

from gredkit.data.hops.index import HopData, add_hops
from gredkit.errors import UserError
from gredkit.nn.encoders.gla import GLA
from gredkit.nn.encoders.linear_attention import LinearAttention
from gredkit.nn.encoders.mamba import AT_ONCE, Mamba
from gredkit.nn.encoders.mingru import MinGRU
from gredkit.nn.encoders.retention import Retention
from gredkit.nn.encoders.rg_lru import RGLRU, initial_decays
from gredkit.nn.encoders.s4d import S4D
from gredkit.registry import ENCODERS

DIM = 3


def state_space(encoder: S4D, rows: Tensor, target: Tensor) -> Tensor:
    """x' = A x + B u with u held between steps, in complex numbers, channel by channel."""
    A = torch.complex(-encoder.log_decay.exp(), encoder.frequency)
    C, dt = torch.complex(encoder.out_re, encoder.out_im), encoder.log_dt.exp()
    read = []
    for c in range(rows.shape[1]):
        step = torch.exp(A[c] * dt[c])
        state = torch.zeros_like(A[c])
        for row in rows.flip(0):
            state = step * state + (step - 1) / A[c] * row[c]
        both = torch.cat([state, state.conj()]), torch.cat([C[c], C[c].conj()])
        read.append((both[0] * both[1]).sum().real + encoder.skip[c] * rows[0, c])
    return torch.stack(read)


def heads_of(encoder: LinearAttention, x: Tensor) -> tuple[Tensor, ...]:
    return x.chunk(encoder.heads)


def normed(encoder: LinearAttention, read: list[Tensor], target: Tensor) -> Tensor:
    """Each head by its root mean square, then gate and output matrix."""
    read = [o / (o.pow(2).mean() + 1e-6).sqrt() for o in read]
    gate = encoder.gate.weight @ target
    return encoder.out.weight @ (gate * torch.sigmoid(gate) * torch.cat(read))


def retaining(encoder: Retention, rows: Tensor, target: Tensor) -> Tensor:
    """A complex matrix for each head, which decays by γ and turns by θ with every hop."""
    read = []
    for head in range(encoder.heads):
        decay, state = 1 - 2.0 ** -(encoder.exponent + head), 0
        for row in rows.flip(0):
            k, v = (heads_of(encoder, one.weight @ row)[head] for one in (encoder.key, encoder.value))
            half = len(k) // 2
            k = torch.complex(k[:half], k[half:])
            angle = torch.tensor([10000.0 ** -(j / half) for j in range(half)], dtype=rows.dtype)
            state = decay * torch.polar(torch.ones_like(angle), angle)[:, None] * state + torch.outer(k.conj(), v + 0j)
        q = heads_of(encoder, encoder.query.weight @ target)[head]
        read.append((torch.complex(q[:half], q[half:]) @ state).real / math.sqrt(2 * half))
    return normed(encoder, read, target)


def gated_attention(encoder: GLA, rows: Tensor, target: Tensor) -> Tensor:
    read = []
    for head in range(encoder.heads):
        state = rows.new_zeros(())
        for row in rows.flip(0):
            k, v = (heads_of(encoder, one.weight @ row)[head] for one in (encoder.key, encoder.value))
            gate = encoder.decay_up.weight @ (encoder.decay_down.weight @ row) + encoder.decay_bias
            decay = torch.sigmoid(heads_of(encoder, gate)[head]) ** (1 / encoder.tau)
            state = decay[:, None] * state + torch.outer(k, v)
        read.append(heads_of(encoder, encoder.query.weight @ target)[head] @ state / math.sqrt(len(k)))
    return normed(encoder, read, target)


def real_gates(encoder: RGLRU, rows: Tensor, target: Tensor) -> Tensor:
    a = 1 / (1 + encoder.decay.exp())  # σ(-Λ)
    state = torch.zeros_like(a)
    for row in rows.flip(0):
        x = encoder.into(row)
        r, i = torch.sigmoid(encoder.recurrence_gate(x)), torch.sigmoid(encoder.input_gate(x))
        decay = a ** (encoder.c * r)
        state = decay * state + (1 - decay**2).sqrt() * (i * x)
    return encoder.out(state)


def minimal(encoder: MinGRU, rows: Tensor, target: Tensor) -> Tensor:
    state = torch.zeros(encoder.state_dim, dtype=rows.dtype)
    for row in rows.flip(0):
        update = torch.sigmoid(encoder.update(row))
        state = (1 - update) * state + update * encoder.candidate(row)
    return encoder.out(state)


def selective(encoder: Mamba, rows: Tensor, target: Tensor) -> Tensor:
    A = -encoder.log_decay.exp()
    state = torch.zeros_like(A)
    for row in rows.flip(0):
        dt = torch.log(1 + (encoder.step_up(encoder.step_down(row))).exp())
        state = torch.exp(dt[:, None] * A) * state + torch.outer(dt * row, encoder.input(row))
    return state @ encoder.output(target) + encoder.skip * target


# The recurrence of each: the rows of a sequence, that which is read last first, and the row of the node itself.
LOOPS: dict[str, tuple[Callable[[int], nn.Module], Callable[..., Tensor]]] = {
    "s4d": (S4D, state_space),
    "s4d, inv": (partial(S4D, states=6, init="inv", dt_min=0.1, dt_max=1.0), state_space),
    "retention": (partial(Retention, state_dim=9), retaining),
    "retention, one head": (partial(Retention, heads=1, exponent=0.5), retaining),
    "rg_lru": (partial(RGLRU, state_dim=4), real_gates),
    "mingru": (partial(MinGRU, state_dim=4), minimal),
    "mamba": (partial(Mamba, states=4, dt_min=0.1, dt_max=1.0), selective),
    "gla": (partial(GLA, state_dim=7, heads=2, tau=2.0), gated_attention),
}


def built(name: str, dim: int = DIM) -> nn.Module:
    torch.manual_seed(0)
    return stirred(LOOPS[name][0](dim))


def value_and_gradients(read: Callable[[Tensor], Tensor], z: Tensor, encoder: nn.Module) -> list[Tensor]:
    z = z.clone().requires_grad_()
    y = read(z)
    weight = torch.randn(y.shape, generator=torch.Generator().manual_seed(2), dtype=y.dtype)
    gradients = torch.autograd.grad((weight * y).sum(), (z, *encoder.parameters()), materialize_grads=True)
    return [y.detach(), *gradients]


@pytest.mark.parametrize("name", LOOPS)
@settings(max_examples=5, deadline=None)
@given(members=hop_batches(), empty=st.booleans())
def test_the_recurrence_as_written(name: str, members: list[HopData], empty: bool) -> None:
    """Values and gradients, in double precision, on any graphs."""
    assert_the_recurrence(name, members, empty)


@pytest.mark.parametrize("empty", [False, True])
@pytest.mark.parametrize("name", LOOPS)
def test_the_recurrence_on_sequences_of_mixed_lengths(name: str, empty: bool) -> None:
    assert_the_recurrence(name, [*small_graphs(5), long_graph()], empty)


@pytest.mark.parametrize("name", LOOPS)
def test_the_recurrence_from_near_to_far(name: str) -> None:
    """The farthest hop is read last; queries, gates and output matrices are those of the node itself."""
    assert_the_recurrence(name, [*small_graphs(3), long_graph()], empty=True, near_to_far=True)


def assert_the_recurrence(name: str, members: list[HopData], empty: bool, near_to_far: bool = False) -> None:
    hops, encoder, plain = index_of(*members), built(name), LOOPS[name][1]
    hops = hops.with_empty_hops if empty else hops
    hops = hops.near_to_far if near_to_far else hops
    z = torch.randn(hops.num_sets + 1, DIM, generator=torch.Generator().manual_seed(1), dtype=torch.float64)

    def one_by_one(z: Tensor) -> Tensor:
        read = [plain(encoder, z[one], z[one[-1 if near_to_far else 0]]) for one in sequences_of(hops)]
        return torch.stack(read) if read else 0 * z[:0]

    found = value_and_gradients(lambda z: encoder(z, hops), z, encoder)
    for one, other in zip(found, value_and_gradients(one_by_one, z, encoder), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-10, atol=1e-10)


# How they start.


@pytest.mark.parametrize(
    ("init", "expected"), [("lin", lambda n: math.pi * n), ("inv", lambda n: 8 / math.pi * (8 / (2 * n + 1) - 1))]
)
def test_s4d_starts_as_published(init: str, expected: Callable[[int], float]) -> None:
    torch.manual_seed(0)
    encoder = S4D(500, states=8, init=init)
    assert encoder.log_dt.min().item() == pytest.approx(math.log(0.001), abs=0.1)
    assert encoder.log_dt.max().item() == pytest.approx(math.log(0.1), abs=0.1)
    assert encoder.log_dt.mean().item() == pytest.approx(math.log(0.01), abs=0.2)
    dt = encoder.log_dt[7].exp().item()
    found = encoder.eigenvalues().view(500, 4)[7]
    for n in range(4):
        value = cmath.exp(dt * complex(-0.5, expected(n)))
        assert found[n].item() == pytest.approx(value, abs=1e-6)
    assert torch.complex(encoder.out_re, encoder.out_im).abs().square().mean().item() == pytest.approx(1, rel=0.1)


def test_retention_keeps_published_eigenvalues() -> None:
    found = Retention(16, heads=4).eigenvalues().view(4, 2)
    torch.testing.assert_close(found.abs()[:, 0], torch.tensor([1 - 1 / 32, 1 - 1 / 64, 1 - 1 / 128, 1 - 1 / 256]))
    torch.testing.assert_close(found.angle()[0], torch.tensor([1.0, 0.01]))


def test_rg_lru_starts_as_published() -> None:
    torch.manual_seed(0)
    powers = torch.exp(-8 * nn.functional.softplus(initial_decays(2000, 0.9, 0.999, 8.0)))
    assert powers.min().item() == pytest.approx(0.9, abs=1e-3)
    assert powers.max().item() == pytest.approx(0.999, abs=1e-3)
    assert powers.mean().item() == pytest.approx((0.9 + 0.999) / 2, abs=2e-3)


def test_mamba_starts_as_published() -> None:
    torch.manual_seed(0)
    encoder = Mamba(800)
    assert torch.allclose(-encoder.log_decay.exp(), -torch.arange(1.0, 17).expand(800, 16))
    steps = nn.functional.softplus(encoder.step_up.bias).log()
    assert steps.min().item() == pytest.approx(math.log(0.001), abs=0.1)
    assert steps.max().item() == pytest.approx(math.log(0.1), abs=0.1)
    assert encoder.step_up.weight.shape == (800, 50)
    assert encoder.step_up.weight.abs().max().item() == pytest.approx(50**-0.5, rel=0.01)
    assert encoder.skip.eq(1).all()


def test_mingru_starts_with_the_gate_of_our_gru() -> None:
    torch.manual_seed(0)
    assert torch.equal(MinGRU(5).update.bias, torch.full((5,), -1.0))
    assert not MinGRU(5, keep_bias=0.0).update.bias.any()


def test_decays_of_gla_start_near_one() -> None:
    torch.manual_seed(0)
    encoder, z = GLA(64), torch.randn(100, 64)
    decay = torch.sigmoid(encoder.decay_up(encoder.decay_down(z)) + encoder.decay_bias) ** (1 / 16)
    assert decay.mean().item() == pytest.approx(0.5 ** (1 / 16), abs=0.01)
    assert encoder.key.weight.shape == (32, 64)
    assert encoder.value.weight.abs().max().item() == pytest.approx(2**-2.5 * math.sqrt(6 / 128), rel=0.01)


# Gates far outside the usual range.


@pytest.mark.parametrize("name", ["rg_lru", "mingru", "mamba", "gla"])
def test_gates_that_are_open_or_shut_have_finite_gradients(name: str) -> None:
    """In single precision, on 60 hops, with gates at the ends of what a sigmoid can say."""
    torch.manual_seed(0)
    encoder, hops = ENCODERS[name](4), index_of(add_hops(from_networkx(path_graph(61)), None))
    for size in (1.0, 1e2, 1e4):
        z = (size * torch.randn(hops.num_sets + 1, 4)).requires_grad_()
        y = encoder(z, hops)
        gradients = torch.autograd.grad((y / size).square().mean(), (z, *encoder.parameters()))
        assert all(one.isfinite().all() for one in (y, *gradients))


def test_mamba_in_many_parts_is_mamba(monkeypatch: pytest.MonkeyPatch) -> None:
    """Value and gradients do not depend on how many rows are computed at a time."""
    hops, encoder = index_of(*small_graphs(5), long_graph()), built("mamba")
    z = torch.randn(hops.num_sets + 1, DIM, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    found = []
    for at_once in (1, 5 * DIM * 4, 2**22):
        monkeypatch.setitem(AT_ONCE, "cpu", at_once)
        found.append(value_and_gradients(lambda z: encoder(z, hops), z, encoder))
    for other in found[1:]:
        for one, two in zip(found[0], other, strict=True):
            torch.testing.assert_close(one, two, rtol=1e-12, atol=1e-12)


def test_mamba_keeps_no_states_for_the_gradient() -> None:
    """No tensor that autograd keeps has a number for each node, hop, channel and state."""
    hops, encoder, kept = index_of(long_graph()), Mamba(8, states=32), []

    def keep(one: Tensor) -> Tensor:
        kept.append(one.numel())
        return one

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda one: one):
        encoder(torch.randn(hops.num_sets + 1, 8), hops)
    assert 0 < max(kept) <= hops.num_nodes * hops.width * 32


def test_mamba_has_second_derivatives_and_can_be_mapped() -> None:
    hops, encoder = index_of(*small_graphs(3)), built("mamba")
    z = torch.randn(hops.num_sets + 1, DIM, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    assert torch.autograd.gradgradcheck(lambda z: encoder(z, hops), (z.requires_grad_(),), fast_mode=True)
    z = z.detach()
    jacobian = torch.func.jacrev(lambda z: encoder(z, hops))(z)
    torch.testing.assert_close(jacobian, torch.autograd.functional.jacobian(lambda z: encoder(z, hops), z))


# Wrong settings.

WRONG: dict[str, tuple[str, dict, str]] = {
    "odd states": ("s4d", {"states": 7}, "states is an even number, because states come in conjugate pairs, not 7"),
    "no states": ("s4d", {"states": 0}, "states is a whole number from 1 to"),
    "unknown init": ("s4d", {"init": "legs"}, "init is one of lin, inv, not 'legs'"),
    "s4d, steps the wrong way round": (
        "s4d",
        {"dt_max": 0.0001},
        "dt_max is a step from dt_min, which is 0.001, to 100",
    ),
    "mamba, steps the wrong way round": ("mamba", {"dt_min": 0.2}, "dt_max is a step from dt_min, which is 0.2"),
    "no states of mamba": ("mamba", {"states": 0}, "states is a whole number from 1 to"),
    "no state": ("retention", {"state_dim": 0}, "state_dim is a whole number from 1 to"),
    "no heads": ("retention", {"heads": 0}, "heads is a whole number from 1 to 1,024, not 0"),
    "no heads of gla": ("gla", {"heads": 0}, "heads is a whole number from 1 to 1,024, not 0"),
    "a head that remembers nothing": (
        "retention",
        {"exponent": 0},
        "exponent is a number above 0 and at most 20, not 0",
    ),
    "no temperature": ("gla", {"tau": 0}, "tau is a number above 0, not 0"),
    "no rank": ("gla", {"rank": 0}, "rank is a whole number from 1 to"),
    "a decay of one": ("rg_lru", {"r_max": 1.0}, "r_max is a decay above 0 and below 1, not 1.0"),
    "decays the wrong way round": ("rg_lru", {"r_max": 0.5}, "r_min is at most r_max, which is 0.5, not 0.9"),
    "no c": ("rg_lru", {"c": -1}, "c is a number above 0 and at most 1000, not -1"),
    "an endless bias": ("mingru", {"keep_bias": math.inf}, "keep_bias is a number from -100 to 100, not inf"),
    "no step": ("s4d", {"dt_min": 0}, "dt_min is a number above 0, not 0"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_settings_end_in_a_sentence(case: str) -> None:
    name, wrong, sentence = WRONG[case]
    with pytest.raises(UserError, match=sentence):
        ENCODERS[name](DIM, **wrong)
