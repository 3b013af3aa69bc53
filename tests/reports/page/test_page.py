"""The page of a study has what a reader asks for, whatever became of the trials."""

import base64
import os
import re
import subprocess
from dataclasses import replace

import pandas as pd
import pytest
from helpers.html_tree import tree
from helpers.known_results import DECIDED, FLAVOURS, results
from helpers.page_studies import HOSTILE, full_study, hostile_study, large_study, made_study, picture
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.figure import Figure

from gredkit.registry import FIGURES
from gredkit.reports.again import row_command, run_address, trial_command
from gredkit.reports.drawing.style import save
from gredkit.reports.page.page import page
from gredkit.reports.page.tables import MOST
from gredkit.reports.question import question
from gredkit.reports.statistics import comparisons
from gredkit.reports.study import StudyData
from gredkit.reports.summary import sentences
from gredkit.reports.tables import summary

SECTIONS = ["Results", "Findings", "Missing or failed", "Trials", "Reproduce", "Settings"]
STUDIES = {
    "full": full_study(),
    "never run": StudyData("never run"),
    "one trial": made_study(results({("far", "lru"): [0.5]})),
    "half done": made_study(results({("far", "lru"): [0.5, 0.6, "running"], ("far", "lstm"): ["missing"] * 3})),
    "all failed": made_study(results({("far", "lru"): [0.5, 0.6, 0.7], ("far", "lstm"): ["failed"] * 3})),
    "nothing finished": made_study(results({("far", "lru"): ["failed", "diverged", "missing"]})),
    "two metrics": made_study(results({("zinc", "lru"): [0.5], ("far", "lru"): [0.5]}, zinc="mae")),
    "nothing begun": made_study(results({("far", "lru"): ["missing"] * 3})),
    "nowhere": made_study(results(FLAVOURS), uri="", experiment="", command="", commit="", files={}),
    "hostile": hostile_study(),
}


def read(study, figures=()):
    return tree(page(study, figures))


def section(document, title):
    return next(part for part in document.find("section") if next(part.find("h2")).text == title)


def listed(document, title):
    return [item.text for item in section(document, title).find("li")]


def rows(document, title):
    """The rows of the table of a section."""
    return [row for body in section(document, title).find("tbody") for row in body.find("tr")]


@pytest.mark.parametrize("name", STUDIES)
def test_every_study_has_a_sensible_page(name):
    study = STUDIES[name]
    document = read(study)
    assert [head.text for head in document.find("h2")] == SECTIONS
    assert next(document.find("h1")).text == (question(study) or study.name)
    assert next(document.find("p", **{"class": "name"})).text == f"Study {study.name}"
    assert listed(document, "Findings") == sentences(study.results, comparisons(study.results))
    shown = next(document.find("main")).text.replace(HOSTILE, "")
    assert not re.search(r"\b(nan|None|NaT|inf)\b", shown)
    for part in document.find("section"):
        assert part.text.removeprefix(next(part.find("h2")).text).strip()
    targets = {
        element["id"]
        for name in ("section", "pre", "p")
        for element in document.find(name)
        if "id" in element.attributes
    }
    assert {link["href"][1:] for link in document.find("a") if link["href"].startswith("#")} <= targets


@pytest.mark.parametrize("name", STUDIES)
def test_nothing_is_loaded(name, tmp_path):
    document = read(STUDIES[name], [picture(tmp_path / "cost.png")])
    for kind, attribute in (("img", "src"), ("link", "href")):
        assert all(element[attribute].startswith("data:") for element in document.find(kind))
    assert [script.attributes for script in document.find("script")] == [{}]
    style = next(document.find("style")).text
    assert "url(" not in style
    assert "@import" not in style
    assert not list(document.find("iframe"))


def test_the_first_lines_say_what_was_run():
    study = full_study()
    ended = pd.Timestamp("2026-01-02 03:04:05", tz="UTC")
    told = [
        [next(read(one).find("p", **{"class": name})).text for name in ("basis", "about")]
        for one in (
            full_study(),
            replace(study, results=study.results.assign(ended=[ended, *[pd.NaT] * (len(study.results) - 1)])),
            full_study(commit="none", command=""),
        )
    ]
    states = "40 trials (31 finished, 2 diverged, 6 failed, 1 missing)"
    rests = f"Rests on {states}: 4 variants on 3 datasets, with scores of 0 to 4 seeds each."
    code = f"commit 0123abcd0123 · {study.command}"
    assert told == [[rests, code], [rests, f"last trial ended 2026-01-02 03:04 UTC · {code}"], [rests, ""]]


def test_results_have_the_numbers_of_the_summary_to_sort_by():
    study = full_study()
    document = read(study)
    found = [row.children for row in rows(document, "Results")]
    expected = summary(study.results)
    ours = found[: len(expected)]
    assert [cells[1].text for cells in ours] == list(expected["variant"])
    assert [cells[0].text.split()[0] for cells in ours] == list(expected["dataset"])
    for column, place in {"mean": 3, "n": 4, "parameters": 8, "seconds_per_epoch": 9, "peak_mb": 10}.items():
        values = [float(cells[place]["data-value"] or "nan") for cells in ours]
        assert values == pytest.approx(list(expected[column].astype(float)), nan_ok=True)
    compared = comparisons(study.results).set_index(["dataset", "variant"])
    for cells, dataset, variant in zip(ours, expected["dataset"], expected["variant"], strict=True):
        if variant == "lru":
            assert cells[5].text == "base"
            continue
        row = compared.loc[dataset, variant]
        for column, place in {"difference": 5, "better": 6, "p_corrected": 7}.items():
            assert float(cells[place]["data-value"] or "nan") == pytest.approx(row[column], nan_ok=True)
        assert cells[2].text.startswith("" if pd.isna(row["difference"]) else row["verdict"])
        if pd.notna(row["better"]):
            assert cells[6].text == f"{row['better']:.2f} ({row['wins']} of {row['pairs']} seeds)"


def test_the_training_score_is_shown_where_it_was_tracked():
    study = full_study()
    assert "training" not in section(read(study), "Results").text + section(read(study), "Trials").text
    frame = study.results.assign(train=study.results["test"] + 0.05)
    document = read(replace(study, results=frame))
    expected = summary(frame)
    found = [row.children for row in rows(document, "Results")]
    assert [float(cells[8]["data-value"] or "nan") for cells in found[: len(expected)]] == pytest.approx(
        expected["train_mean"].tolist(), nan_ok=True
    )
    assert {len(cells) for cells in found} == {13}
    trials = [row.children for row in rows(document, "Trials")]
    values = [float(cells[5]["data-value"] or "nan") for cells in trials]
    assert values == pytest.approx(frame["train"].tolist(), nan_ok=True)


def test_bold_is_what_is_decided():
    study = made_study(results(DECIDED))
    bold = {
        (row.children[0].text.split()[0], row.children[1].text, place)
        for row in rows(read(study), "Results")
        for place, cell in enumerate(row.children)
        if list(cell.find("strong"))
    }
    assert bold == {("far", "lru", 3), ("far", "rnn", 5)}


def test_a_decision_of_an_early_look_is_beside_what_all_seeds_say():
    scores = {("far", "a"): [0.5, 0.51, 0.52, 0.5, 0.51, 0.1, 0.1, 0.1], ("far", "b"): [0.3, 0.31, 0.32, 0.31, 0.3]}
    (*_, other) = rows(read(made_study(results(scores).assign(looks="5,8"))), "Results")
    assert other.children[2].text == "different"
    assert other.children[5].text.endswith("(all seeds: \N{MINUS SIGN}0.0470)")


def test_the_paper_has_a_row_with_its_budget():
    last = rows(read(full_study()), "Results")[-1]
    cells = [cell.text for cell in last.children]
    assert cells[:5] == ["zinc (MAE ↓)", "GRED, published (table 2)", "", "0.077 ± 0.002 (2000 epochs)", "4"]
    assert "published" not in section(read(made_study(results(FLAVOURS))), "Results").text


def test_every_trial_has_its_run_and_its_command():
    study = full_study()
    found = rows(read(study), "Trials")
    assert len(found) == len(study.results)
    for row, trial in zip(found, study.results.itertuples(), strict=True):
        cells = [cell.text for cell in row.children]
        assert cells[:4] == [trial.dataset, trial.variant, str(trial.seed), trial.state]
        assert [link["href"] for link in row.find("a")] == [run_address(study, trial.run)] * bool(trial.run)
        copied = [button["data-copy"] for button in row.find("button")]
        assert copied == [trial_command(study, trial.run)] * bool(trial.run)


def test_lost_trials_are_told_together_with_their_message():
    assert listed(read(full_study()), "Missing or failed") == [
        "1 trial of broken on far diverged (seed 0).",
        "2 trials of broken on far failed (seeds 1, 2): “ValueError: no such file”",
        "1 trial of broken on far is not in MLflow (seed 3).",
        "1 trial of rnn on near diverged (seed 2).",
        "4 trials of broken on near failed (seeds 0, 1, 2, 3): “ValueError: no such file”",
    ]
    assert "every trial has a score" in section(read(STUDIES["one trial"]), "Missing or failed").text


@pytest.mark.parametrize(
    ("uri", "address"),
    [
        ("https://mlflow.example.org/", "https://mlflow.example.org/#/experiments/7/runs/run0"),
        ("sqlite:////home/you/mlflow.db", "http://127.0.0.1:5000/#/experiments/7/runs/run0"),
    ],
)
def test_links_lead_to_runs_and_the_page_says_how(uri, address):
    document = read(full_study(uri=uri))
    assert next(section(document, "Trials").find("a"))["href"] == address
    told = section(document, "Reproduce").text
    assert ("mlflow ui --backend-store-uri" in told) == uri.startswith("sqlite")
    assert uri in told


def test_an_address_of_another_kind_is_no_link():
    document = read(full_study(uri="javascript:alert(1)"))
    assert not [link for link in document.find("a") if link["href"].startswith("javascript")]


def test_commands_fetch_the_settings_of_each_seed_and_train_them_apart(tmp_path):
    """Run by a shell, with programs in the place of MLflow and Python that write down how they were called."""
    for name in ("mlflow", "python"):
        (tmp_path / name).write_text('#!/bin/sh\necho "$MLFLOW_TRACKING_URI $(basename $0) $*" >> calls\n')
        (tmp_path / name).chmod(0o755)
    study = full_study(uri="sqlite:////a folder/of $you's/mlflow.db")
    surroundings = {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    subprocess.run(["bash", "-ec", row_command(study, ["a1", "b2"])], cwd=tmp_path, env=surroundings, check=True)
    assert (tmp_path / "calls").read_text().splitlines() == [
        line
        for run in ("a1", "b2")
        for line in (
            f"{study.uri} mlflow artifacts download --run-id {run} --artifact-path config.gin --dst-path again/{run}",
            f" python -m gredkit.run --gin again/{run}/config.gin "
            "--tracking-uri sqlite:///again/mlflow.db --reports again",
        )
    ]


def test_each_row_of_the_results_leads_to_its_command():
    study = full_study()
    document = read(study)
    again = {pre["id"]: pre.text for pre in section(document, "Reproduce").find("pre") if "id" in pre.attributes}
    for row in rows(document, "Results"):
        dataset, variant = row.children[0].text.split()[0], row.children[1].text
        here = study.results[(study.results["dataset"] == dataset) & (study.results["variant"] == variant)]
        for link in row.find("a"):
            assert again[link["href"][1:]] == row_command(study, [run for run in here["run"] if run])


def test_names_stay_text():
    document = read(hostile_study())
    assert next(document.find("title")).text.startswith(HOSTILE)
    assert len(list(document.find("script"))) == 1
    assert not list(document.find("img"))
    assert [row.children[1].text for row in rows(document, "Results")] == ["lru", HOSTILE]
    settings_part = section(document, "Settings")
    assert next(settings_part.find("summary")).text == next(settings_part.find("pre")).text == HOSTILE
    assert listed(document, "Missing or failed") == [f"1 trial of {HOSTILE} on {HOSTILE} failed (seed 2): “{HOSTILE}”"]


@settings(max_examples=10, deadline=None)
@given(st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=1))
def test_any_name_is_shown_as_it_is(name):
    frame = results({("far", name): [0.5, "failed"]})
    document = read(made_study(frame.assign(message=name), name=name))
    assert next(document.find("p", **{"class": "name"})).text == f"Study {name}"
    assert rows(document, "Results")[0].children[1].text == name
    assert f"“{name}”" in listed(document, "Missing or failed")[0]


def test_a_picture_without_a_title_is_named_after_its_file(tmp_path):
    path = picture(tmp_path / "my own_figure.png")
    figure = next(read(full_study(), [path]).find("figure"))
    image = next(figure.find("img"))
    assert base64.b64decode(image["src"].removeprefix("data:image/png;base64,")) == path.read_bytes()
    assert (image["width"], image["height"]) == ("20", "10")
    assert image["alt"] == "Figure: my own figure"
    assert next(figure.find("figcaption")).text.startswith("my own figure. ")
    assert next(figure.find("a"))["href"] == "my%20own_figure.pdf"


def test_title_and_caption_come_with_the_picture(tmp_path):
    drawn = Figure(figsize=(2, 1))
    png, pdf = save(drawn, tmp_path, "own", "Scores <by> λ", "How to read it: ‖M_k‖ & “more”.")
    figure = next(read(full_study(), [png]).find("figure"))
    assert next(figure.find("img"))["alt"] == "Figure: Scores <by> λ"
    assert next(figure.find("figcaption")).text == "Scores <by> λ. How to read it: ‖M_k‖ & “more”. PDF"
    assert b"/Title" in pdf.read_bytes()


@pytest.mark.parametrize("name", FIGURES)
def test_every_figure_has_a_title_and_a_caption(name):
    kind = FIGURES[name]()
    assert len(kind.title) > 8
    assert kind.caption.endswith(".")
    assert not kind.title.endswith(".")


def test_ten_thousand_trials_fit():
    study = large_study(25, 50, 8)
    assert len(study.results) == 10_000
    text = page(study, [])
    assert len(text.encode()) < 5_000_000
    document = tree(text)
    assert len(rows(document, "Trials")) == len(rows(document, "Results")) == MOST
    assert "first 1,000 of 10,000 trials; results.parquet has all" in section(document, "Trials").text
    assert "first 1,000 of 1,250 rows; table.csv has all" in section(document, "Results").text
    assert not any("open" in part.attributes for part in section(document, "Trials").find("details"))


def test_print_leaves_out_only_what_has_to_be_clicked():
    document = read(full_study())
    printed = next(document.find("style")).text.partition("@media print")[2]
    (hidden,) = [line for line in printed.splitlines() if "display: none; }" in line and "nav" in line]
    assert ".screen" in hidden
    assert "last-child" not in hidden  # it may be the last study of several
    for name in ("Results", "Trials"):
        part = section(document, name)
        heads = [(head.text, head.attributes.get("class")) for head in part.find("th", scope="col")]
        assert [text for text, kinds in heads if kinds and "screen" in kinds] == ["again"] == [heads[-1][0]]
        assert all(row.children[-1].attributes.get("class") == "screen" for row in rows(document, name))
