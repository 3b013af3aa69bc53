"""Whatever a user names, every file of a report reads it back as text: no formula in CSV, no command in LaTeX."""

import csv
import io
import re
from pathlib import Path
from tempfile import TemporaryDirectory

import pandas as pd
from helpers.known_results import results
from helpers.page_studies import made_study
from hypothesis import given, settings
from hypothesis import strategies as st

from gredkit.registry import REPORTS
from gredkit.reports.cells import csv_text
from gredkit.reports.tables import IN_LATEX, latex, markdown

BEGINS = ("=", "+", "-", "@", "\t", "\r", "\n", "|", "%", "＝", "＋", "－", "＠")  # noqa: RUF001
SHOWN = st.text(st.characters(exclude_categories=("Cs", "Cc", "Zs", "Zl", "Zp")), min_size=1, max_size=8)
NAMES = SHOWN | st.text(st.sampled_from("&%$#_{}~^\\<>|[]*=+-@\"',;a1 "), min_size=1, max_size=8).map(str.strip).filter(
    bool
)
ESCAPED = {value: key for key, value in IN_LATEX.items()}
TOKEN = re.compile("|".join(map(re.escape, sorted(ESCAPED, key=len, reverse=True))))


def frame(name, other="base"):
    return results({("far", other): [0.5, 0.6, 0.7], ("far", name): [0.5, "failed", 0.6]}).assign(message=name)


def is_number(text):
    return bool(re.fullmatch(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", text))


def unescaped(text):
    return TOKEN.sub(lambda found: ESCAPED[found[0]], text)


@settings(max_examples=30, deadline=None)
@given(NAMES)
def test_every_csv_of_a_report_has_no_formula_and_loses_no_name(name):
    study = made_study(frame(name), name=name)
    with TemporaryDirectory() as folder:
        files = [file for kind in REPORTS if kind != "figures" for file in REPORTS[kind](study, Path(folder))]
        tables = {file.name: file.read_text(encoding="utf-8") for file in files if file.suffix == ".csv"}
        parquet = pd.read_parquet(Path(folder, "results.parquet"))
    assert {"table.csv", "comparisons.csv"} <= set(tables)
    for text in tables.values():
        for row in csv.reader(io.StringIO(text, newline="")):
            assert not any(cell.lstrip(" ").startswith(BEGINS) and not is_number(cell) for cell in row)
    read = list(csv.DictReader(io.StringIO(tables["table.csv"], newline="")))
    assert {row["variant"].removeprefix("'") for row in read} == {"base", name.removeprefix("'")}
    assert set(parquet["variant"]) == {"base", name}


@settings(max_examples=60, deadline=None)
@given(NAMES.filter(lambda name: name != "base"))
def test_latex_can_be_read_back(name):
    text = latex(frame(name), f"Study {name}.", "tab:made")
    rows = [line for line in text.splitlines() if line.endswith(r" \\") and "multicolumn" not in line]
    cells = [unescaped(line.partition(" & ")[0]) for line in rows]
    assert " ".join(name.split()) in cells
    caption = next(line for line in text.splitlines() if line.startswith("\\caption{"))
    assert unescaped(caption).startswith(f"\\caption{{Study {' '.join(name.split())}.")
    for line in text.splitlines():  # nothing is open, and no comment hides the end of a line
        bare = re.sub(r"\\.", "", line) if not line.startswith("%") else ""
        assert "%" not in bare
        assert bare.count("{") == bare.count("}")


@settings(max_examples=60, deadline=None)
@given(NAMES)
def test_markdown_has_one_cell_per_column(name):
    lines = [line for line in markdown(frame(name)).splitlines() if line.startswith("| ")]
    sizes = {len(re.findall(r"(?<!\\)(?:\\\\)*\|", line)) for line in lines}
    assert len(sizes) == 1
    assert not any(re.search(r"(?<!\\)<", line) for line in lines)


def test_numbers_stay_numbers_and_full_width_signs_are_signs():
    made = pd.DataFrame({"a": [-1.5, 2e-9], "b": ["-3", "+4.5e-3"], "＝c": ["＝1+1", "－x"]})  # noqa: RUF001
    read = list(csv.reader(io.StringIO(csv_text(made))))
    assert read == [["a", "b", "'＝c"], ["-1.5", "-3", "'＝1+1"], ["2e-09", "+4.5e-3", "'－x"]]  # noqa: RUF001


def test_a_column_of_categories_is_text_too():
    made = pd.DataFrame({"name": pd.Categorical(["=1", "a"]), "any": [{"=": 1}, ["=2"]]})
    assert [row[0] for row in csv.reader(io.StringIO(csv_text(made)))] == ["name", "'=1", "a"]
