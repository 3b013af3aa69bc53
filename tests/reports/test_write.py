"""The files of a report: whole or not at all, for every state in which a study can be."""

import io
import json
from dataclasses import replace

import pandas as pd
import pytest
from helpers.commands import fails_with_a_sentence, run
from helpers.tracked_studies import GIN, TrackedStudy, good
from reports.figures.made_frames import influence_frame, knock_out_frame
from rich.console import Console

from gredkit.ablation.invocation import Ended, Options
from gredkit.ablation.summary import summarise
from gredkit.errors import UserError
from gredkit.registry import REPORTS
from gredkit.reports.kept import read_kept
from gredkit.reports.published import references_of
from gredkit.reports.reading import read_study
from gredkit.reports.write import write_report
from gredkit.tracking.tracker import Tracker

ALWAYS = {
    *("table.md", "table.csv", "table.tex", "comparisons.csv"),
    *("results.parquet", "curves.parquet", "study.json", "index.html"),
}
SPECTRA = {"eigenvalues.parquet", "hop_weights.parquet"}  # where the study has them


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """On two axes, one of numbers and words."""
    text = GIN.replace("('lru', 'mean')}", "('lru', 'mean'), 'K': (1, None)}").replace("(0, 1, 2)", "(0, 1)")
    study = TrackedStudy(tmp_path_factory.mktemp("study"), text)
    study.tell(good)
    return study


def names(folder):
    return {path.name for path in folder.iterdir()} - {".written"}


def test_a_finished_study_has_tables_figures_frames_and_a_page(study, tmp_path):
    written = write_report(study.read(), tmp_path)
    assert written[-1] == tmp_path / "index.html"
    assert {path.name for path in written} == names(tmp_path)
    pictures = {path.stem for path in written if path.suffix == ".png"}
    expected = {"differences", "k_ablation", "flavours", "axes", "eigenvalues", "hop_filter", "learning_curves", "cost"}
    assert pictures == expected
    figures = {f"{name}.{kind}" for name in pictures for kind in ("png", "pdf")}
    assert names(tmp_path) == ALWAYS | SPECTRA | figures
    page = (tmp_path / "index.html").read_text()
    assert all(f'id="figure-{name}"' in page for name in pictures)
    assert r"\toprule" in (tmp_path / "table.tex").read_text()
    assert "| lru, K=1 | **" not in (tmp_path / "table.md").read_text()  # two seeds prove nothing


def test_a_report_is_written_again_from_what_it_keeps(study, tmp_path):
    data = study.read()
    heard = replace(data, influence=influence_frame(data.results), knock_out=knock_out_frame(data.results))
    first = write_report(heard, tmp_path / "tiny")
    told = run("-m", "gredkit.report", "--from", "tiny", "--reports", "again", cwd=tmp_path)
    assert told.returncode == 0, told.stderr
    assert "again/tiny/index.html" in told.stdout
    again = tmp_path / "again" / "tiny"
    assert names(again) == {path.name for path in first}
    for path in first:
        if path.suffix not in (".pdf", ".png", ".parquet"):  # of pictures the page has the drawings
            assert path.read_text() == (again / path.name).read_text(), path.name


@pytest.mark.parametrize(
    ("file", "content", "reason"),
    [
        ("study.json", None, "study.json is missing"),
        ("curves.parquet", None, "curves.parquet is missing"),
        ("study.json", "{", "that can be read"),
        ("study.json", '{"name": "tiny"}', "that can be read"),
        ("results.parquet", "rows", "that can be read"),
        ("eigenvalues.parquet", "rows", "that can be read"),
    ],
)
def test_what_is_not_kept_cannot_be_written_again(file, content, reason, study, tmp_path):
    REPORTS["parquet"](study.read(), tmp_path)
    if content is None:
        (tmp_path / file).unlink()
    else:
        (tmp_path / file).write_text(content)
    with pytest.raises(UserError, match=reason):
        read_kept(tmp_path)


def test_parquet_has_what_the_store_has(study, tmp_path):
    data = study.read()
    REPORTS["parquet"](data, tmp_path)
    results = pd.read_parquet(tmp_path / "results.parquet")
    assert list(results.columns) == list(data.results.columns)
    pd.testing.assert_frame_equal(results, data.results, check_dtype=False)
    curves = pd.read_parquet(tmp_path / "curves.parquet")
    pd.testing.assert_frame_equal(curves, data.curves, check_dtype=False)


def test_k_may_be_a_number_the_dataset_and_nothing(study, tmp_path):
    data = study.read()
    values = [1, "dataset", None, 4, 1, "dataset", None, 4]
    data.results["K"] = pd.Series(values, dtype=object)
    REPORTS["parquet"](data, tmp_path)
    assert read_kept(tmp_path).results["K"].tolist() == values


def test_an_axis_of_several_types_is_text_in_parquet(study, tmp_path):
    data = study.read()
    data.results["axis:mixed"] = [1, "two", None, [3, 4], 0.5, True, 1, 1]
    REPORTS["parquet"](data, tmp_path)
    read = pd.read_parquet(tmp_path / "results.parquet")["axis:mixed"]
    assert read.dropna().tolist() == ["1", "two", "[3, 4]", "0.5", "True", "1", "1"]


FATES = {
    "one trial": (lambda trial: 0.9, "is the only variant with a score"),
    "half done": (lambda trial: 0.9 if trial.seed == 0 else "missing", "are not in MLflow"),
    "while it runs": (lambda trial: 0.9 if trial.seed else "running", "is still running"),
    "a variant that failed": (lambda trial: "failed" if trial.variant == "mean" else 0.9, "3 of 3 trials of mean"),
    "a variant that diverged": (lambda trial: "diverged" if trial.variant == "mean" else 0.9, "diverged"),
    "nothing finished": (lambda trial: "failed", "No trial has finished yet."),
}


DRAWN = ("half done", "a variant that failed", "nothing finished")  # of the others only the words differ


@pytest.mark.parametrize("fate", FATES)
def test_every_state_of_a_study_has_a_report(fate, tmp_path, monkeypatch):
    assert "figures" in list(REPORTS)  # which take their time
    if fate not in DRAWN:
        monkeypatch.delitem(REPORTS._entries, "figures")
    text = GIN.replace("('lru', 'mean')", "('lru',)").replace("(0, 1, 2)", "(0,)") if fate == "one trial" else GIN
    study = TrackedStudy(tmp_path, text)
    becomes, said = FATES[fate]
    study.tell(becomes)
    write_report(study.read(), tmp_path / "report")
    assert names(tmp_path / "report") >= ALWAYS
    page = (tmp_path / "report/index.html").read_text()
    assert said in page
    states = pd.read_parquet(tmp_path / "report/results.parquet")["state"]
    counted = pd.read_csv(tmp_path / "report/table.csv")
    assert len(states) == len(study.plan.trials) == counted["trials"].sum()
    for state, count in states.value_counts().items():
        assert counted[state].sum() == count


def test_a_study_without_trials_has_a_report(tmp_path):
    data = read_study(Tracker("empty", f"sqlite:///{tmp_path / 'mlflow.db'}"))
    write_report(data, tmp_path / "report")
    assert names(tmp_path / "report") >= ALWAYS
    assert (tmp_path / "report/table.md").read_text() == "There are no trials yet.\n"
    assert pd.read_parquet(tmp_path / "report/results.parquet").empty


def test_figures_that_no_longer_apply_go_and_what_others_put_there_stays(study, tmp_path):
    data = study.read()
    (tmp_path / "flavours.png").write_text("mine, and in the way")
    (tmp_path / "notes.md").write_text("mine")
    write_report(data, tmp_path)
    assert (tmp_path / "flavours.png").read_bytes().startswith(b"\x89PNG")
    data.results["state"] = "failed"
    write_report(data, tmp_path)
    assert names(tmp_path) == ALWAYS | SPECTRA | {"scores.png", "scores.pdf", "notes.md"}


def test_a_crash_leaves_the_last_report_as_it_was(study, tmp_path, monkeypatch):
    assert "figures" in list(REPORTS)  # which take their time
    monkeypatch.delitem(REPORTS._entries, "figures")
    data = study.read()
    write_report(data, tmp_path)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}

    def broken(study, folder):
        (folder / "table.md").write_text("half")
        raise RuntimeError("broken")

    monkeypatch.setitem(REPORTS._entries, "zzz", broken)
    with pytest.raises(RuntimeError, match="broken"):
        write_report(data, tmp_path)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_a_report_that_crashes_at_the_end_of_a_run_is_a_sentence(study, tmp_path, monkeypatch):
    def broken(study, folder):
        raise RuntimeError("broken")

    for name in list(REPORTS):
        monkeypatch.delitem(REPORTS._entries, name)
    monkeypatch.setitem(REPORTS._entries, "broken", broken)
    out = io.StringIO()
    assert not summarise(Ended([], study.tracker, False, 0), Options("again", reports=tmp_path), Console(file=out))
    said, _, last = out.getvalue().partition("\n")
    assert said.startswith("there is no report: RuntimeError: broken; the trials are safe")
    assert last.startswith("MLflow: ")


def test_where_nothing_can_be_written_is_a_sentence(study, tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(UserError, match=f"nothing can be written to {tmp_path}/file/report"):
        write_report(study.read(), tmp_path / "file" / "report")


def test_the_papers_line_names_both_budgets(study):
    results = study.read().results.assign(dataset="zinc", metric="mae")
    assert references_of(results) == {"zinc": [("paper, 2000 epochs (here 3 epochs)", 0.077)]}
    assert not references_of(results.assign(metric="accuracy"))


OWN = """
import json
from gredkit.registry import REPORTS

@REPORTS.register("counts")
def counts(study, folder):
    '''counts.json: trials by their state.'''
    path = folder / "counts.json"
    path.write_text(json.dumps(study.results["state"].value_counts().to_dict()))
    return [path]
"""


def test_the_command_with_a_report_of_the_users_own(study, tmp_path):
    (tmp_path / "own.py").write_text(OWN)
    arguments = ("-m", "gredkit.report", "--tracking-uri", study.uri, "--import", "own")
    result = run(*arguments, "--study", "tiny", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert not result.stderr
    folder = tmp_path / "reports/tiny"
    assert "| lru, K=1 " in result.stdout
    assert "1. lru, K=1 has the best mean on ring_transfer" in result.stdout
    assert (folder / "table.md").is_file()
    assert result.stdout.endswith("report: reports/tiny/index.html\n")
    assert json.loads((folder / "counts.json").read_text()) == {"finished": 8}
    said = fails_with_a_sentence(run(*arguments, "--study", "tinny", cwd=tmp_path))
    assert "there is no study 'tinny'" in said
    assert "did you mean 'tiny'?" in said


def test_the_command_without_a_store_is_a_sentence(tmp_path):
    said = fails_with_a_sentence(run("-m", "gredkit.report", "--study", "tiny", cwd=tmp_path))
    assert "there is no database" in said
    assert not list(tmp_path.iterdir())
