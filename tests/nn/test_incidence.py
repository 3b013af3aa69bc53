import pytest
import torch
from helpers.incidences import EXAMPLES, dense, incidence, matrices
from hypothesis import given
from torch.autograd import gradcheck, gradgradcheck

from gredkit.nn.incidence import Incidence, starts
from gredkit.nn.kernels.usable import without_kernels

Matrix = tuple[list[list[int]], int]


def assert_same_product(rows: list[list[int]], num_columns: int, of: Incidence) -> None:
    """Value and gradient of the sum, here and as a dense product."""
    torch.manual_seed(0)
    x = torch.randn(num_columns, 3, dtype=torch.float64, requires_grad=True)
    found, expected = of.sum(x), dense(rows, num_columns) @ x
    torch.testing.assert_close(found, expected, rtol=1e-14, atol=1e-14)
    weight = torch.randn_like(expected)
    found_grad, expected_grad = (torch.autograd.grad(y, x, weight)[0] for y in (found, expected))
    torch.testing.assert_close(found_grad, expected_grad, rtol=1e-14, atol=1e-14)


def test_starts() -> None:
    assert starts(torch.tensor([2, 0, 3])).tolist() == [0, 2, 2, 5]
    assert starts(torch.empty(0, dtype=torch.long)).tolist() == [0]


@pytest.mark.parametrize("example", EXAMPLES.values(), ids=EXAMPLES)
def test_sum_is_the_product_with_the_dense_matrix(example: Matrix) -> None:
    assert_same_product(*example, of=incidence(*example))


@given(matrix=matrices())
def test_sum_is_the_product_with_the_dense_matrix_for_any_matrix(matrix: Matrix) -> None:
    assert_same_product(*matrix, of=incidence(*matrix))


@given(matrix=matrices())
def test_the_transposed_matrix(matrix: Matrix) -> None:
    rows, num_columns = matrix
    transposed = incidence(*matrix).transposed
    assert (transposed.num_rows, transposed.num_columns) == (num_columns, len(rows))
    x = torch.randn(len(rows), 2, dtype=torch.float64)
    torch.testing.assert_close(transposed.sum(x), dense(*matrix).T @ x, rtol=1e-14, atol=1e-14)


@given(matrix=matrices())
def test_the_transposed_matrix_is_the_same_without_kernels(matrix: Matrix) -> None:
    with_them = incidence(*matrix).transposed
    with without_kernels():
        without = incidence(*matrix).transposed
    assert torch.equal(with_them.start, without.start)
    assert torch.equal(with_them.columns, without.columns)


def test_entries_by_their_column() -> None:
    columns = torch.tensor([3, 0, 3, 1])
    assert_same_product([[1], [3], [], [0, 2]], 4, of=Incidence.by_column(columns, 4))


@given(matrix=matrices())
def test_rows_of_entries_and_entries_of_rows(matrix: Matrix) -> None:
    rows, _ = matrix
    found = incidence(*matrix)
    assert found.num_rows == len(rows)
    assert found.entry_row.tolist() == [r for r, row in enumerate(rows) for _ in row]
    count = sum(map(len, rows))
    entries = iter(range(count))
    assert_same_product([[next(entries) for _ in row] for row in rows], count, of=found.entries)


@pytest.mark.parametrize("columns", [[2, 0, 2, 1], [0], []])
def test_a_look_up(columns: list[int]) -> None:
    found = Incidence.one_a_row(torch.tensor(columns, dtype=torch.long), 3)
    assert found.num_rows == len(columns)
    assert found.entry_row.tolist() == list(range(len(columns)))
    assert_same_product([[c] for c in columns], 3, of=found)


@pytest.mark.parametrize("example", [EXAMPLES["mixed"], EXAMPLES["a column listed twice"]])
def test_gradients_of_both_orders_by_finite_differences(example: Matrix) -> None:
    matrix = incidence(*example)
    x = torch.randn(example[1], 2, dtype=torch.float64, requires_grad=True)
    assert gradcheck(matrix.sum, (x,))
    assert gradgradcheck(matrix.sum, (x,))
    assert gradgradcheck(lambda x: matrix.sum(x).square(), (x,))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_a_large_sum_in_half_precision_is_not_rounded_at_each_step(dtype: torch.dtype) -> None:
    """Adding ones in bfloat16 one by one would end at 256."""
    matrix = incidence([list(range(2000))], 2000)
    x = torch.ones(2000, 5, dtype=dtype, requires_grad=True)
    total = matrix.sum(x)
    assert total.dtype == dtype
    assert total.tolist() == [[2000.0] * 5]
    total.sum().backward()
    assert x.grad is not None
    assert torch.equal(x.grad, torch.ones_like(x))
