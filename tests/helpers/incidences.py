"""Sparse matrices of zeros and ones for the tests, with their dense twins."""

import torch
from hypothesis import strategies as st
from torch import Tensor

from gredkit.nn.incidence import Incidence, starts


def incidence(rows: list[list[int]], num_columns: int) -> Incidence:
    """The matrix with these columns in its rows."""
    sizes = torch.tensor([len(row) for row in rows], dtype=torch.long)
    columns = torch.tensor([c for row in rows for c in row], dtype=torch.long)
    return Incidence(starts(sizes), columns, num_columns)


def dense(rows: list[list[int]], num_columns: int) -> Tensor:
    """The same in float64; a column listed twice counts twice."""
    matrix = torch.zeros(len(rows), num_columns, dtype=torch.float64)
    for r, row in enumerate(rows):
        for c in row:
            matrix[r, c] += 1
    return matrix


# Rows with many, one and no entries, and columns that stand in no row.
EXAMPLES: dict[str, tuple[list[list[int]], int]] = {
    "mixed": ([[0, 3], [], [2], [1, 2, 3, 4], [], [4, 0, 2]], 6),
    "first and last row empty": ([[], [1, 0], []], 2),
    "one entry per row": ([[2], [0], [2], [1]], 3),
    "all rows empty": ([[], [], []], 4),
    "no rows": ([], 3),
    "no columns": ([[], []], 0),
    "one large row": ([list(range(40)), [7]], 40),
    "a column listed twice": ([[1, 1, 0], [1]], 2),
}


@st.composite
def matrices(draw: st.DrawFn) -> tuple[list[list[int]], int]:
    """Rows of distinct columns, in any order."""
    num_columns = draw(st.integers(0, 8))
    if num_columns == 0:
        return [[]] * draw(st.integers(0, 4)), 0
    row = st.lists(st.integers(0, num_columns - 1), unique=True)
    return draw(st.lists(row, max_size=8)), num_columns
