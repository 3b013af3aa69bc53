"""Every result that a page or a gin header states is that of a committed report, or the paper's."""

import re
from pathlib import Path

import pandas as pd
import pytest
from quoted import BLOCK, COMPONENTS, HEADERS, PAGES, QUOTE, ROOT, quote, renewed, results, stale

from gredkit.registry import REGISTRIES
from gredkit.reports.published import plain_name, published
from gredkit.reports.tables import summary

NUMBER = r"\d+\.\d{2,}"  # a result has two decimals or more, a setting is written with `=`
KNOWN = re.compile(rf"chance is {NUMBER}|always the median: {NUMBER}|\w = {NUMBER}|--set \S+")
PAPERS = re.compile(rf"(?:the paper reports|GRED, published:)[^;]*? ({NUMBER}|\d+\.\d) ± ({NUMBER}|\d+\.\d)( %)?")
STUDIES = sorted(path.name for path in (ROOT / "reports").iterdir() if path.is_dir())


def comments(path: Path) -> str:
    """A gin file's comments, as one text."""
    lines = [line.partition("#")[2].strip() for line in path.read_text().splitlines() if "#" in line]
    return " ".join(line for line in lines if not line.startswith("python "))


def test_all_quotations_are_those_of_the_reports():
    files = [path.relative_to(ROOT).as_posix() for path in stale()]
    assert not files, f"{', '.join(files)}: python tests/quoted.py --write"


def test_reports_are_quoted():
    assert {study for page in PAGES for _, study, _ in BLOCK.findall(page.read_text())} == set(STUDIES)
    quoted = {path.stem for path in HEADERS if QUOTE.search(path.read_text())}
    assert quoted == {"ring_transfer", "digits", "molecules"}


@pytest.mark.parametrize("study", STUDIES)
def test_the_table_of_a_report_is_that_of_its_trials(study):
    written = pd.read_csv(ROOT / "reports" / study / "table.csv")
    again = summary(results(study))
    same = ["dataset", "variant", "mean", "std", "n", "parameters"]
    pd.testing.assert_frame_equal(written[same], again[same], check_dtype=False)


@pytest.mark.parametrize("path", HEADERS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_a_header_states_no_other_results(path):
    text = comments(path)
    rest = KNOWN.sub("", PAPERS.sub("", QUOTE.sub("", text)))
    assert not re.findall(NUMBER, rest), "quote a report, as tests/quoted.py reads it, or leave the number out"


@pytest.mark.parametrize("path", HEADERS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_a_header_states_the_papers_numbers_as_the_paper_does(path):
    for mean, std, percent in PAPERS.findall(comments(path)):
        scale = 100 if percent else 1
        is_own = path.parent.name == "models"  # or gin/models/DATASET/MODEL.gin
        of_paper = published(path.stem.removesuffix("_lap_pe") if is_own else path.parent.name)
        model = plain_name("GRED" if is_own else path.stem.removesuffix("_lap_pe"))
        model += "+lappe" if path.stem.endswith("_lap_pe") else ""
        known = of_paper[of_paper["model"].map(plain_name) == model]
        pairs = [(round(scale * row.mean_, 6), round(scale * row.std_, 6)) for row in _named(known)]
        assert (float(mean), float(std)) in pairs


def test_the_papers_numbers_are_recognised():
    assert sum(len(PAPERS.findall(comments(path))) for path in HEADERS) == 36


def _named(frame: pd.DataFrame):
    return frame.rename(columns={"mean": "mean_", "std": "std_"}).itertuples()


@pytest.mark.parametrize("page", ["README.md", "docs/index.md", "docs/results.md"])
def test_a_page_about_results_states_no_other_results(page):
    text = re.sub(r"https://\S+|Python 3\.\d+", "", BLOCK.sub("", (ROOT / page).read_text()))
    assert not re.findall(NUMBER, text)


def test_every_kind_of_component_is_listed_once():
    kinds = [kind for page in PAGES for _, kind, _ in COMPONENTS.findall(page.read_text())]
    assert sorted(kinds) == sorted([*REGISTRIES, "settings"])


def test_what_is_stale_is_seen_and_written_anew(tmp_path):
    right = quote("rnn_flavors", "lru", "digits")
    file = tmp_path / "digits.gin"
    file.write_text("# Expect: a test accuracy of 0.1 ± 0.2 (reports/rnn_flavors, lru; chance is 0.1).\n")
    assert renewed(file) == f"# Expect: a test accuracy of {right}; chance is 0.1).\n"
    file.write_text(renewed(file))
    assert renewed(file) == file.read_text()
