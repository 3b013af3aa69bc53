import importlib.util
import subprocess
import sys

import pytest
import torch
from helpers.incidences import EXAMPLES, incidence, matrices
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from torch.autograd import gradcheck

from gredkit.errors import UserError
from gredkit.nn.segments import (
    BACKENDS,
    FASTEST,
    REDUCTIONS,
    check_backend,
    installed_backends,
    segment_reduce,
    segment_softmax,
    sum_entries,
)

Matrix = tuple[list[list[int]], int]


def plain(x: Tensor, rows: list[list[int]], reduce: str) -> Tensor:
    """Set by set; where several rows hold the maximum, the first one listed is taken."""
    out = []
    for row in rows:
        members = [x[c] for c in row]
        if not members:
            out.append(0 * x.sum(0))
        elif reduce == "max":
            first = torch.stack(members).detach().numpy().argmax(0).tolist()  # numpy's is the first one
            out.append(torch.stack([members[i][j] for j, i in enumerate(first)]))
        else:
            out.append(sum(members, x.new_zeros(())) / (len(members) if reduce == "mean" else 1))
    return torch.stack(out) if out else x[:0]


def assert_right(x: Tensor, matrix: Matrix, reduce: str, backend: str) -> None:
    """Value and gradient, here and set by set."""
    torch.manual_seed(0)
    x = x.clone().requires_grad_()
    rows, _ = matrix
    found = segment_reduce(x, incidence(*matrix), reduce, backend)
    expected = plain(x, rows, reduce)
    torch.testing.assert_close(found, expected, rtol=1e-13, atol=1e-13)
    weight = torch.randn(expected.shape, dtype=x.dtype)
    found_grad, expected_grad = (torch.autograd.grad(y, x, weight)[0] for y in (found, expected))
    torch.testing.assert_close(found_grad, expected_grad, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("example", EXAMPLES.values(), ids=EXAMPLES)
@pytest.mark.parametrize("reduce", REDUCTIONS)
@pytest.mark.parametrize("backend", [*installed_backends(), "auto"])
def test_reductions(backend: str, reduce: str, example: Matrix) -> None:
    assert_right(torch.randn(example[1], 3, dtype=torch.float64), example, reduce, backend)


@pytest.mark.parametrize("reduce", REDUCTIONS)
@pytest.mark.parametrize("backend", installed_backends())
@given(matrix=matrices(), values=st.data())
def test_reductions_of_any_sets_with_many_ties(
    backend: str, reduce: str, matrix: Matrix, values: st.DataObject
) -> None:
    count = 3 * matrix[1]
    drawn = values.draw(st.lists(st.sampled_from([-1.0, 0.0, 2.0]), min_size=count, max_size=count))
    assert_right(torch.tensor(drawn, dtype=torch.float64).reshape(-1, 3), matrix, reduce, backend)


@pytest.mark.parametrize("reduce", REDUCTIONS)
def test_backends_agree(reduce: str) -> None:
    """In single precision, on many sets with ties, equal to the last bit for the maximum."""
    torch.manual_seed(0)
    rows = [torch.randperm(50)[: i % 9].tolist() for i in range(200)]
    sets = incidence(rows, 50)
    values = torch.randint(-3, 4, (50, 4)).float()
    weight = torch.randn(200, 4)
    results = []
    for backend in installed_backends():
        x = values.clone().requires_grad_()
        y = segment_reduce(x, sets, reduce, backend)
        results.append((y.detach(), *torch.autograd.grad(y, x, weight)))
    tolerance = 0 if reduce == "max" else 1e-6
    for value, grad in results[1:]:
        torch.testing.assert_close(value, results[0][0], rtol=tolerance, atol=tolerance)
        torch.testing.assert_close(grad, results[0][1], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("reduce", REDUCTIONS)
@pytest.mark.parametrize("backend", installed_backends())
def test_gradients_by_finite_differences(backend: str, reduce: str) -> None:
    matrix = EXAMPLES["mixed"]
    sets = incidence(*matrix)
    x = torch.randn(matrix[1], 2, dtype=torch.float64, requires_grad=True)
    assert gradcheck(lambda x: segment_reduce(x, sets, reduce, backend), (x,))


@pytest.mark.parametrize("backend", installed_backends())
def test_a_maximum_may_be_below_the_zero_of_the_empty_set(backend: str) -> None:
    found = segment_reduce(torch.tensor([[-5.0], [-2.0]]), incidence([[0, 1], [0], []], 2), "max", backend)
    assert found.flatten().tolist() == [-2.0, -5.0, 0.0]


def test_the_softmax_of_each_set() -> None:
    rows, num_columns = EXAMPLES["mixed"]
    scores = torch.randn(num_columns, 2, dtype=torch.float64, requires_grad=True)
    found = segment_softmax(scores, incidence(rows, num_columns))
    expected = torch.cat([scores[row].softmax(0) for row in rows])
    torch.testing.assert_close(found, expected, rtol=1e-13, atol=1e-13)
    weight = torch.randn_like(expected)
    found_grad, expected_grad = (torch.autograd.grad(y, scores, weight)[0] for y in (found, expected))
    torch.testing.assert_close(found_grad, expected_grad, rtol=1e-12, atol=1e-13)


def test_the_softmax_of_large_scores_is_finite() -> None:
    found = segment_softmax(torch.tensor([[1e4], [1e4], [-1e4]]), incidence([[0, 1], [2], [0, 2]], 3))
    assert found.flatten().tolist() == [0.5, 0.5, 1.0, 1.0, 0.0]


def test_an_unknown_backend_is_an_error_that_names_the_known_ones() -> None:
    sets = incidence([[0]], 1)
    with pytest.raises(UserError, match="backend is one of native, torch_scatter, auto, not 'cuda_magic'"):
        segment_reduce(torch.ones(1, 1), sets, "sum", "cuda_magic")


@pytest.mark.parametrize("backend", [*installed_backends(), "auto"])
def test_an_unknown_reduction_is_an_error_that_names_the_known_ones(backend: str) -> None:
    with pytest.raises(UserError, match="reduce is one of sum, mean, max, not 'median'"):
        segment_reduce(torch.ones(1, 1), incidence([[0]], 1), "median", backend)


def test_torch_scatter_is_offered_where_it_is_installed() -> None:
    installed = importlib.util.find_spec("torch_scatter") is not None
    assert installed_backends() == (["native", "torch_scatter"] if installed else ["native"])


WITHOUT_TORCH_SCATTER = """
import sys
sys.modules["torch_scatter"] = None  # an import of it now fails

import torch
from gredkit.errors import UserError
from gredkit.nn.incidence import Incidence
from gredkit.nn.segments import installed_backends, segment_reduce

assert installed_backends() == ["native"], installed_backends()
sets = Incidence(torch.tensor([0, 2, 2, 3]), torch.tensor([0, 1, 1]), 2)
x = torch.tensor([[1.0], [4.0]])
ways = [(reduce, backend) for backend in ("native", "auto") for reduce in ("sum", "mean", "max")]
print([segment_reduce(x, sets, *way).flatten().tolist() for way in ways])
try:
    segment_reduce(x, sets, "sum", "torch_scatter")
except UserError as error:
    print(error)
"""


def test_without_torch_scatter_the_native_backend_is_used() -> None:
    done = subprocess.run([sys.executable, "-c", WITHOUT_TORCH_SCATTER], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    values, error = done.stdout.splitlines()
    once = "[5.0, 0.0, 4.0], [2.5, 0.0, 4.0], [4.0, 0.0, 4.0]"
    assert values == f"[{once}, {once}]"
    assert error.startswith("torch-scatter is not installed: run pip install --no-build-isolation torch-scatter")
    assert error.endswith("or set SCATTER = 'native'")


@pytest.mark.parametrize("backend", [*installed_backends(), "auto"])
def test_rows_of_entries_are_summed_by_set(backend: str) -> None:
    rows, num_columns = EXAMPLES["mixed"]
    sets = incidence(rows, num_columns)
    entries = torch.randn(len(sets.columns), 2, dtype=torch.float64, requires_grad=True)
    expected = torch.stack([part.sum(0) for part in entries.split([len(row) for row in rows])])
    torch.testing.assert_close(sum_entries(entries, sets, backend), expected, rtol=1e-13, atol=1e-13)
    assert gradcheck(lambda x: sum_entries(x, sets, backend), (entries,))


def test_what_auto_takes_is_a_table_and_never_a_measurement() -> None:
    """A trial must give the same bits each time it runs; kernels stand for sums on a CPU, so 'auto' is native there."""
    assert FASTEST["cpu"].keys() == set(REDUCTIONS)
    assert {choice for table in FASTEST.values() for choice in table.values()} <= {"native", "torch_scatter"}
    assert FASTEST["cpu"]["sum"] == "native"


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_backend_is_checked_by_name_and_by_what_is_installed(backend: str) -> None:
    if backend == "auto" or backend in installed_backends():
        check_backend(backend)
    else:
        with pytest.raises(UserError, match="torch-scatter is not installed"):
            check_backend(backend)
