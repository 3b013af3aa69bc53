"""Several studies in one report."""

import re
from copy import copy
from dataclasses import replace
from urllib.parse import quote

import numpy as np
import pytest
from helpers.commands import fails_with_a_sentence, run
from helpers.html_tree import tree
from helpers.known_results import results
from helpers.page_studies import HOSTILE, made_study
from helpers.tracked_studies import GIN, TrackedStudy, good
from scipy import stats

from gredkit.ablation.plan import make_plan
from gredkit.config.source import Source
from gredkit.errors import UserError
from gredkit.reports.compare import combined, differing
from gredkit.reports.page.compared import compared
from gredkit.reports.page.page import page
from gredkit.reports.samples import Method
from gredkit.reports.statistics import comparisons
from gredkit.reports.study import SETTING, StudyData
from gredkit.tracking.tracker import Tracker

NOISE = np.array([0.0, 0.02, -0.01, 0.01, -0.03])
ONE = {("far", "lru"): 0.9 + NOISE, ("far", "rnn"): 0.5 + NOISE, ("near", "lru"): 0.5 + NOISE}
OTHER = {("zinc", "lru"): 0.9 + NOISE, ("far", "lru"): 0.7 - NOISE}


def studies(one=ONE, other=OTHER, names=("one", "other"), **metrics):
    made: list[StudyData] = []
    for name, scores in zip(names, (one, other), strict=True):
        frame = results(scores, **metrics).assign(**{f"{SETTING}fit.epochs": "3", f"{SETTING}model": "gred"})
        study = made_study(frame, name=name, files={"a.gin": "# a.gin: why?"}, experiment=name)
        made.append(replace(study, results=study.results.assign(run=study.results["run"] + f"of{len(made)}")))
    return made


def test_variants_of_common_datasets_stand_side_by_side():
    both = combined(studies())
    assert both.name == "one_vs_other"
    assert list(both.results["dataset"].unique()) == ["far"]
    assert list(both.results["variant"].unique()) == ["lru (one)", "rnn (one)", "lru (other)"]
    assert both.results["id"].is_unique
    assert sorted(both.files) == ["one/a.gin", "other/a.gin"]


def test_trials_of_two_studies_are_never_paired():
    found = comparisons(combined(studies()).results).set_index("variant")
    assert found.loc["lru (other)", "method"] == Method.WELCH
    assert found.loc["rnn (one)", "method"] == Method.PAIRED
    welch = stats.ttest_ind(0.7 - NOISE, 0.9 + NOISE, equal_var=False)
    p = 2 * stats.t.sf(abs(welch.statistic), max(welch.df - 1, len(NOISE) - 1))
    assert found.loc["lru (other)", "p"] == pytest.approx(p)


def test_settings_that_differ_are_listed():
    one, other = studies()
    other = replace(other, results=other.results.assign(**{f"{SETTING}fit.epochs": "9", f"{SETTING}own": "yes"}))
    other = replace(other, hashes={"far": ["b"]})
    frame = differing([replace(one, hashes={"far": ["a"]}), other])
    assert frame.to_numpy().tolist() == [
        ["data of far", "a", "b"],
        ["fit.epochs", "3", "9"],
        ["own", "", "yes"],
    ]
    assert differing([one, replace(one, name="same")]).empty


def test_studies_without_a_common_dataset_are_a_sentence():
    with pytest.raises(UserError, match=r"no dataset with the same metric in common \(one: far \(accuracy\); other"):
        combined(studies({("far", "lru"): [0.5]}, {("near", "lru"): [0.5]}))


def test_the_page_names_the_studies_and_stays_text():
    made = studies(names=("one", HOSTILE))
    document = tree(page(combined(made), [], compared(made)))
    titles = [head.text for head in document.find("h2")]
    assert titles[:3] == ["Results", "Studies", "What differs"]
    part = next(part for part in document.find("section") if next(part.find("h2")).text == "Studies")
    cells = [[cell.text for cell in row.children] for body in part.find("tbody") for row in body.find("tr")]
    assert [row[:2] for row in cells] == [["one", "Why?"], [HOSTILE, "Why?"]]
    assert len(list(document.find("script"))) == 1
    runs = [link["href"] for link in document.find("a") if "/runs/" in link["href"]]
    found = {re.search(r"experiments/([^/]+)/runs/run\d(of\d)", link).groups() for link in runs}
    assert found == {("one", "of0"), (quote(HOSTILE, safe=""), "of1")}


def test_the_command_writes_one_report(tmp_path):
    study = TrackedStudy(tmp_path, GIN)
    study.tell(good)
    other = copy(study)  # another study of the same store
    other.folder = tmp_path / "two"
    (tmp_path / "other.gin").write_text(GIN.replace("'mean'", "'weighted_sum'"))
    other.plan = make_plan(Source((str(tmp_path / "other.gin"),)))
    other.tracker = Tracker("other", study.uri)
    other.tracker.begin("again", [str(tmp_path / "other.gin")])
    other.tracker.add_plan(other.plan.trials, other.plan.is_tuning)
    other.tell(good)
    arguments = ("-m", "gredkit.report", "--tracking-uri", study.uri, "--compare")
    said = fails_with_a_sentence(run(*arguments, "tiny", cwd=tmp_path))
    assert "--compare needs at least two studies" in said
    said = fails_with_a_sentence(run(*arguments, "tiny", "tinny", cwd=tmp_path))
    assert "did you mean 'tiny'?" in said
    result = run(*arguments, "tiny", "other", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert result.stdout.endswith("report: reports/tiny_vs_other/index.html\n")
    shown = (tmp_path / "reports/tiny_vs_other/index.html").read_text()
    assert all(name in shown for name in ("lru (tiny)", "mean (tiny)", "lru (other)", "weighted_sum (other)"))
    table = (tmp_path / "reports/tiny_vs_other/table.csv").read_text()
    assert table.count("(tiny)") == table.count("(other)") == 2
