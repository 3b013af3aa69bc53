import csv
import io

import pandas as pd
from hypothesis import given
from hypothesis import strategies as st

from gredkit.reports.cells import csv_text

NAMES = st.text(st.sampled_from("=+-@\t\r\n |%'\"1e.,;aB"), max_size=6)


def is_number(text):
    try:
        return float(text) is not None
    except ValueError:
        return False


@given(st.lists(st.tuples(NAMES, st.floats(allow_nan=False)), min_size=1, max_size=5), NAMES)
def test_no_cell_is_a_formula_and_none_is_lost(rows, title):
    frame = pd.DataFrame(rows, columns=[f"{title} ", "score"])
    read = list(csv.reader(io.StringIO(csv_text(frame), newline="")))
    for line in read:
        for cell in line:
            first = cell.lstrip(" ")[:1]
            assert first not in ("=", "+", "-", "@", "\t", "\r") or is_number(cell)
    for line, (name, score) in zip(read[1:], rows, strict=True):
        kept = name.replace("\r", " ")
        assert line[0] in (kept, f"'{kept}")
        assert float(line[1]) == score
