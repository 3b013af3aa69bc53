"""Tables cell by cell from a known frame."""

import io
import re

import numpy as np
import pandas as pd
import pytest
from helpers.known_results import COLUMNS, DECIDED, FLAVOURS, results

from gredkit.reports.numbers import decimals, mean_and_spread, p_value, significant
from gredkit.reports.tables import csv, latex, markdown, summary

EMPTY = pd.DataFrame(columns=list(COLUMNS))
MIXED = {
    ("zinc", "lru"): [0.35, 0.36, 0.34],
    ("zinc", "a_b & 50%|x"): [0.45, 0.46, 0.47],
    ("digits", "lru"): [0.9, 0.8, 0.85],
}
STUDIES = {
    "empty": EMPTY,
    "one trial": results({("zinc", "lru"): [0.3]}, zinc="mae"),
    "one seed": results({("zinc", "lru"): [0.3], ("zinc", "rnn"): [0.4]}, zinc="mae"),
    "all failed": results({("far", "lru"): ["failed"] * 3, ("far", "rnn"): ["diverged", "missing", "running"]}),
    "flavours": results(FLAVOURS),
    "mixed": results(MIXED, zinc="mae"),
    "one variant failed": results({("far", "lru"): [0.1, 0.2, 0.3], ("far", "rnn"): ["failed"] * 3}),
}


def cells(text):
    return [[cell.strip() for cell in line[1:-1].split(" | ")] for line in text.splitlines() if line.startswith("|")]


def test_the_summary_frame():
    found = summary(results(FLAVOURS)).set_index(["dataset", "variant"])
    assert len(found) == 8
    lru = found.loc[("far", "lru")]
    assert lru["mean"] == pytest.approx(0.955)
    assert lru["std"] == pytest.approx(np.std([0.95, 0.97, 0.96, 0.94], ddof=1))
    assert (lru["n"], lru["trials"], lru["parameters"], lru["epochs"], lru["others"]) == (4, 4, 12345, 30, "")
    assert (lru["seconds_per_epoch"], lru["peak_mb"]) == (3.5, 1503)
    rnn = found.loc[("near", "rnn")]
    assert (rnn["n"], rnn["trials"], rnn["diverged"], rnn["others"]) == (3, 4, 1, "1 diverged")
    assert rnn["seconds_per_epoch"] == pytest.approx((2 + 3 + 5) / 3)  # of seeds 0, 1 and 3, which finished
    broken = found.loc[("far", "broken")]
    assert (broken["n"], broken["others"]) == (0, "1 diverged, 2 failed, 1 missing")
    assert broken[["mean", "std", "seconds_per_epoch", "peak_mb"]].isna().all()
    assert found.index[found["is_best"]].tolist() == [("far", "lru"), ("near", "rnn")]
    assert not found["best_holds"].any()  # of four seeds
    decided = summary(results(DECIDED)).set_index(["dataset", "variant"])
    assert decided.index[decided["best_holds"]].tolist() == [("far", "lru")]


def test_markdown_cell_by_cell():
    header, _, lru, lstm, rnn, broken = cells(markdown(results(FLAVOURS)))
    assert header == [
        *("variant", "far (accuracy ↑)", "near (accuracy ↑)", "parameters, far", "parameters, near"),
        *("seconds per epoch, far", "seconds per epoch, near", "peak memory (MB), far", "peak memory (MB), near"),
    ]
    costs = ["12,345", "12,345", "3.50", "3.50", "1,503", "1,503"]
    assert lru == ["lru", "0.955 ± 0.013", "0.515 ± 0.013", *costs]
    assert lstm == ["lstm", "0.367 ± 0.010", "0.515 ± 0.013", *costs]
    assert rnn == ["rnn", "0.305 ± 0.021", "0.620 ± 0.020 (n = 3, 1 diverged)", *costs[:3], "3.33", *costs[4:]]
    failed = ["- (1 diverged, 2 failed, 1 missing)", "- (4 failed)"]
    assert broken == ["broken", *failed, "12,345", "12,345", "-", "-", "-", "-"]
    notes = markdown(results(FLAVOURS)).split("\n\n")[1].splitlines()
    assert notes == [
        "Test score: mean ± standard deviation over 4 seeds, unless the cell says otherwise.",
        "Nothing is bold: with fewer than 5 seeds nothing is decided.",
        "Trained for 30 epochs.",
        "All variants ran with compiled kernels.",
    ]


def test_datasets_with_other_metrics_and_the_paper_beside():
    text = markdown(results(MIXED, zinc="mae"))
    header, _, lru, other, published = cells(text)
    assert header[1:3] == ["zinc (MAE ↓)", "digits (accuracy ↑)"]
    assert lru[:3] == ["lru", "0.350 ± 0.010", "0.850 ± 0.050"]
    assert other == [r"a_b & 50%\|x", "0.460 ± 0.010", "", "12,345", "", "3.00", "", "1,502", ""]
    assert published == ["GRED, published", "0.077 ± 0.002 (2000 epochs)", *[""] * 7]
    assert "Trained for 30 epochs." in text
    assert "not a comparison on equal terms" in text
    assert "| GRED, published |" not in markdown(results(MIXED))  # by another metric


def test_a_published_model_of_another_size_is_said_to_be_so():
    made = {
        ("cifar10", "gred"): [0.7, 0.71, 0.72],
        ("cifar10", "gcn"): [0.5, 0.51, 0.52],
        ("cifar10", "own"): [0.1] * 3,
    }
    text = markdown(results(made).assign(parameters=512_345))
    *_, ours, theirs = cells(text)
    assert ours[:2] == ["GRED, published", "0.76853 ± 0.00185 (600 epochs)"]
    assert theirs[:2] == ["gcn, published", "0.55710 ± 0.00381 (about 100k parameters)"]
    other_size = "On cifar10 the published GCN has about 100k parameters, the model here 512,345: not the same budget."
    assert other_size in text
    assert "the published GRED has" not in text
    assert "the published GCN has" not in markdown(results(made).assign(parameters=110_000))
    assert other_size.replace("%", "") in latex(results(made).assign(parameters=512_345))


def test_one_dataset_needs_no_name_above_its_costs():
    header, _, *rows = cells(markdown(STUDIES["one trial"]))
    assert header == ["variant", "zinc (MAE ↓)", "parameters", "seconds per epoch", "peak memory (MB)"]
    assert rows[0] == ["lru", "0.300", "12,345", "2.00", "1,500"]
    assert "one seed, so no spread is known" in markdown(STUDIES["one trial"])


def test_why_nothing_is_bold():
    assert "with fewer than 5 seeds nothing is decided" in markdown(STUDIES["one seed"])
    assert "no variant is shown to be worse than the one with the best mean" in markdown(
        results({("far", "lru"): [0.1, 0.2, 0.3, 0.2, 0.2], ("far", "rnn"): [0.3, 0.1, 0.2, 0.2, 0.2]})
    )
    note = "Bold: the best mean, and all that are not shown to be worse (t tests, corrected)"
    assert f"{note}, where at least one variant is." in markdown(results(DECIDED))
    assert ["**" in cell for cell in cells(markdown(results(DECIDED)))[2]] == [False, True, *[False] * 7]
    assert r"\textbf{" in latex(results(DECIDED))
    steps = [seed / 50 for seed in range(5)]
    alike = {("far", "a"): [0.5 + step for step in reversed(steps)], ("far", "b"): [0.51 + step for step in steps]}
    three = markdown(results({**alike, ("far", "c"): [0.1 + step for step in steps]}))
    assert ["**" in row[1] for row in cells(three)[2:]] == [True, True, False]
    assert f"{note}." in three
    assert "bold" not in markdown(STUDIES["one variant failed"]).lower()


def test_studies_that_have_nothing_yet():
    assert markdown(EMPTY) == "There are no trials yet."
    assert latex(EMPTY) == "% There are no trials yet."
    failed = markdown(STUDIES["all failed"])
    assert cells(failed)[2][1] == "- (3 failed)"
    assert cells(failed)[3][1] == "- (1 diverged, 1 running, 1 missing)"
    assert failed.endswith("No trial has finished yet.")


def test_epochs_that_differ_are_said():
    frame = results(FLAVOURS)
    frame.loc[frame["dataset"] == "near", "epochs"] = 1
    assert "Trained for 30 epochs (far), 1 epoch (near)." in markdown(frame)
    frame.loc[(frame["dataset"] == "near") & (frame["variant"] == "rnn"), "epochs"] = 9
    assert "Trained for 30 epochs (far), 1 to 9 epochs (near)." in markdown(frame)


@pytest.mark.parametrize("name", STUDIES)
def test_latex_is_well_formed(name):
    text = latex(STUDIES[name], caption="Of all & everything.", label="tab:all")
    if name == "empty":
        return
    lines = text.splitlines()
    width = len(re.search(r"\\begin\{tabular\}\{(\w+)\}", text)[1])
    for opened, closed in zip(
        re.findall(r"\\begin\{(.+?)\}", text), re.findall(r"\\end\{(.+?)\}", text)[::-1], strict=True
    ):
        assert opened == closed
    plain = re.sub(r"\\[{}]", "", text)
    assert plain.count("{") == plain.count("}")
    body = lines[lines.index(r"\toprule") + 1 : lines.index(r"\bottomrule")]
    rows = [line for line in body if not line.startswith((r"\midrule", r"\cmidrule"))]
    assert len(rows) >= 3
    for line in rows:
        assert line.endswith(r" \\")
        spanned = sum(int(columns) - 1 for columns in re.findall(r"\\multicolumn\{(\d+)\}", line))
        assert len(re.findall(r"(?<!\\)&", line)) + 1 + spanned == width
    for line in lines[1:]:
        assert not re.search(r"(?<!\\)[%#]", line)
        assert not re.search(r"(?<!\\)_", re.sub(r"\\label\{.*\}", "", line))
        assert line.count("$") % 2 == 0 or r"\$" in line
        assert line.isascii()
    assert r"\caption{Of all \& everything. " in text
    assert r"\label{tab:all}" in text


def test_latex_cell_by_cell():
    text = latex(results(MIXED, zinc="mae"))
    assert r"lru & 0.350 $\pm$ 0.010 & 0.850 $\pm$ 0.050 & 12,345 & 12,345 & 3.00 & 3.00 & 1,502 & 1,502 \\" in text
    assert r"a\_b \& 50\%\textbar{}x & 0.460 $\pm$ 0.010 &  & 12,345 &" in text
    assert r"variant & zinc (MAE $\downarrow$) & digits (accuracy $\uparrow$) & zinc & digits &" in text
    assert r"& \multicolumn{2}{c}{test score} & \multicolumn{2}{c}{parameters} &" in text
    assert r"\cmidrule(lr){2-3} \cmidrule(lr){4-5}" in text
    assert "\\midrule\nGRED, published & 0.077 $\\pm$ 0.002 (2000 epochs) &" in text
    assert "\n{[}1{]} ~".replace("~", "&") in latex(results({("far", "[1]"): [0.1]}))


@pytest.mark.parametrize("name", STUDIES)
def test_csv_is_the_summary(name):
    frame = STUDIES[name]
    read = pd.read_csv(io.StringIO(csv(frame)), keep_default_na=True)
    expected = summary(frame)
    assert list(read.columns) == list(expected.columns)
    assert read["n"].tolist() == expected["n"].tolist()
    np.testing.assert_array_equal(read["mean"].to_numpy(float), expected["mean"].to_numpy(float))


def test_a_column_that_holds_nothing_may_be_of_any_type():
    """A study of which MLflow has nothing yet."""
    frame = results({("far", "lru"): ["missing"] * 2})
    frame[["test", "seconds_per_epoch", "peak_mb"]] = None
    assert summary(frame)["missing"].tolist() == [2]


@pytest.mark.parametrize(
    ("spreads", "expected"),
    [([0.0123], 3), ([0.0012, 0.0034], 4), ([0.00002], 4), ([0.15], 2), ([12.0], 0), ([], 3), ([float("nan"), 0.0], 3)],
)
def test_decimals_show_two_digits_of_the_spread(spreads, expected):
    assert decimals(spreads) == expected


def test_numbers_as_text():
    assert [significant(n) for n in (0.5873, 12.345, 1234.5, -0.000123, 0.0, 2e-9, float("nan"))] == [
        *("0.587", "12.3", "1234", "-0.000123", "0", "2e-09", "-")
    ]
    assert [p_value(p) for p in (0.0001, 0.0312, 1.0)] == ["p < 0.001", "p = 0.031", "p = 1"]
    sides = [p_value(p) for p in (0.0496, 0.04996, 0.04999999, 0.05, 0.0503, 0.050000001)]
    assert sides == ["p = 0.0496", "p = 0.04996", "p < 0.05", "p = 0.05", "p = 0.0503", "p > 0.05"]
    assert mean_and_spread(float("nan"), float("nan"), 3) == "-"


def test_the_training_score_is_shown_where_it_was_tracked():
    frame = results(MIXED, zinc="mae")
    tracked = frame.assign(train=np.where(frame["dataset"] == "digits", frame["test"] + 0.05, np.nan))
    found = summary(tracked).set_index(["dataset", "variant"])
    assert found.loc[("digits", "lru"), "train_mean"] == pytest.approx(0.9)
    assert found.loc[("digits", "lru"), "train_std"] == pytest.approx(0.05)
    assert found.loc["zinc", "train_mean"].isna().all()
    header, _, lru, other, *_ = cells(markdown(tracked))
    place = header.index("training score, digits (accuracy)")
    assert header[place - 1] == "training score, zinc (MAE)"
    assert (lru[place], lru[place - 1], other[place - 1]) == ("0.900 ± 0.050", "-", "-")
    assert "that of the tested model on its training graphs" in markdown(tracked)
    assert "training score" in latex(tracked)
    for untracked in (frame, frame.assign(train=np.nan)):
        assert "training" not in markdown(untracked).lower()
