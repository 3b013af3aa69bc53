import pytest
import torch
from torch import Tensor
from torch.autograd import gradcheck, gradgradcheck

from gredkit.nn.scan import before, last_state, linear_scan

LENGTHS = [*range(34), 64, 100]
DTYPES = [torch.float64, torch.complex128]
DIM = 3

# Shapes that `a` may have beside b of shape [2, T, 3].
SHAPES = {
    "one for all": lambda T: (DIM,),
    "one for all, written out": lambda T: (1, DIM),
    "one per step": lambda T: (T, DIM),
    "one per sequence": lambda T: (2, 1, DIM),
    "full": lambda T: (2, T, DIM),
}


def loop(a: Tensor, b: Tensor, reverse: bool) -> Tensor:
    """The recurrence as written."""
    shape = torch.broadcast_shapes(a.shape, b.shape)
    a, b = a.expand(shape), b.expand(shape)
    steps = range(shape[-2])
    state = torch.zeros_like(a[..., 0, :] * b[..., 0, :]) if steps else None
    states = {}
    for t in reversed(steps) if reverse else steps:
        state = a[..., t, :] * state + b[..., t, :]
        states[t] = state
    return torch.stack([states[t] for t in steps], -2) if steps else b


def inputs(shape: str, T: int, dtype: torch.dtype, b_dtype: torch.dtype | None = None) -> tuple[Tensor, Tensor]:
    torch.manual_seed(T)
    a = 0.5 * torch.randn(SHAPES[shape](T), dtype=dtype)
    b = torch.randn(2, T, DIM, dtype=b_dtype or dtype)
    return a.requires_grad_(), b.requires_grad_()


def assert_as_the_loop(a: Tensor, b: Tensor, reverse: bool = False) -> None:
    """Value and gradients."""
    found, expected = linear_scan(a, b, reverse), loop(a, b, reverse)
    assert found.dtype == torch.promote_types(a.dtype, b.dtype)
    torch.testing.assert_close(found, expected, rtol=1e-12, atol=1e-12)
    weight = torch.randn_like(expected)
    found_grads, expected_grads = (
        torch.autograd.grad(y, (a, b), weight, materialize_grads=True) for y in (found, expected)
    )
    for one, other in zip(found_grads, expected_grads, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("reverse", [False, True], ids=["forward", "reverse"])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("shape", SHAPES)
def test_scan_is_the_loop(shape: str, dtype: torch.dtype, reverse: bool) -> None:
    for T in LENGTHS:
        assert_as_the_loop(*inputs(shape, T, dtype), reverse)


@pytest.mark.parametrize("T", [1, 2, 5])
@pytest.mark.parametrize(("a_dtype", "b_dtype"), [DTYPES, DTYPES[::-1]], ids=["real a", "complex a"])
def test_real_and_complex_numbers_mix(a_dtype: torch.dtype, b_dtype: torch.dtype, T: int) -> None:
    assert_as_the_loop(*inputs("full", T, a_dtype, b_dtype))


@pytest.mark.parametrize("T", [1, 2, 5])
def test_several_recurrences_over_one_sequence(T: int) -> None:
    """`a` may have the dimensions that b lacks."""
    torch.manual_seed(0)
    a = torch.randn(4, T, DIM, dtype=torch.float64, requires_grad=True)
    b = torch.randn(T, DIM, dtype=torch.float64, requires_grad=True)
    assert linear_scan(a, b).shape == (4, T, DIM)
    assert_as_the_loop(a, b)


@pytest.mark.parametrize("T", [1, 2, 5])
@pytest.mark.parametrize("reverse", [False, True], ids=["forward", "reverse"])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("shape", SHAPES)
def test_gradients_of_both_orders_by_finite_differences(shape: str, dtype: torch.dtype, reverse: bool, T: int) -> None:
    a, b = inputs(shape, T, dtype)
    assert gradcheck(lambda a, b: linear_scan(a, b, reverse), (a, b))
    assert gradgradcheck(lambda a, b: linear_scan(a, b, reverse), (a, b), fast_mode=True)  # along random directions


def test_only_one_of_the_inputs_needs_a_gradient() -> None:
    a, b = inputs("one per step", 5, torch.complex128)
    for other in (linear_scan(a.detach(), b), linear_scan(a, b.detach())):
        assert other.requires_grad
    assert gradcheck(lambda a: linear_scan(a, b.detach()), (a,))
    assert gradcheck(lambda b: linear_scan(a.detach(), b), (b,))


def test_the_inputs_are_not_written_to() -> None:
    a, b = inputs("full", 7, torch.float64)
    before = a.detach().clone(), b.detach().clone()
    linear_scan(a, b).sum().backward()
    assert torch.equal(a, before[0])
    assert torch.equal(b, before[1])


def test_a_sequence_of_one_is_copied() -> None:
    """Writing to the states must not reach the input."""
    _, b = inputs("one for all", 1, torch.float64)
    b = b.detach()
    states = linear_scan(torch.ones(DIM, dtype=torch.float64), b)
    states += 1
    assert not torch.equal(states, b)


def test_eigenvalues_on_the_unit_circle_do_not_blow_up() -> None:
    angle = torch.linspace(0, 3, DIM, dtype=torch.float32)
    states = linear_scan(torch.polar(torch.ones(DIM), angle), torch.ones(1, 500, DIM, dtype=torch.complex64))
    exact = linear_scan(
        torch.polar(torch.ones(DIM, dtype=torch.float64), angle.double()),
        torch.ones(1, 500, DIM, dtype=torch.complex128),
    )
    torch.testing.assert_close(states.to(exact.dtype), exact, rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("T", [0, 1, 2, 7])
def test_the_last_state_alone_is_that_of_the_scan(T: int) -> None:
    """Value and gradients, for decays from almost nothing to one."""
    torch.manual_seed(0)
    log_a = -torch.tensor([0.0, 1e-3, 0.5, 300.0], dtype=torch.float64)[torch.randint(4, (2, T, DIM))]
    log_a, b = log_a.requires_grad_(), torch.randn(2, T, DIM, dtype=torch.float64, requires_grad=True)
    assert before(b).shape == b.shape
    found = last_state(log_a, b)
    expected = linear_scan(log_a.exp(), b, reverse=True)[:, 0] if T else torch.zeros_like(found)
    torch.testing.assert_close(found, expected, rtol=1e-12, atol=1e-12)
    if T:
        gradients = [torch.autograd.grad(y.sum(), (log_a, b)) for y in (found, expected)]
        torch.testing.assert_close(*gradients, rtol=1e-12, atol=1e-12)


def test_a_decay_of_zero_has_a_finite_gradient() -> None:
    log_a = torch.tensor([-1e38, -1e38, -1.0, -1e38])[:, None].requires_grad_()
    b = torch.ones(4, 1, requires_grad=True)
    state = last_state(log_a, b)
    assert state.item() == 1
    assert all(one.isfinite().all() for one in torch.autograd.grad(state.sum(), (log_a, b)))
