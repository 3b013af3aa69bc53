"""Replicates repeat a variant beside seeds; what a study says about comparisons reaches the report."""

import json

import pytest

from gredkit.ablation.plan import after_tuning, make_plan
from gredkit.config.source import Source
from gredkit.errors import UserError
from gredkit.reports.reading import read_study
from gredkit.reports.statistics import comparisons
from gredkit.tracking.runs import StudyRuns
from gredkit.tracking.tracker import Tracker

TINY = "LAYERS = 1\nDIM = 8\nSEEDS = (0, 1)\ndatasets.ring_transfer.graphs = 20\n"
FOLDS = "study.replicates = {'datasets.ring_transfer.seed': (5, 6, 7)}\n"
AXIS = "study.axes = {'variant.encoder': ('lru', 'gru')}\n"


@pytest.fixture
def plan_of(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def make(text="", *bindings):
        (tmp_path / "study.gin").write_text(TINY + text)
        return make_plan(Source(("study.gin",), bindings))

    return make


def test_replicates_multiply_seeds_and_are_no_variants(plan_of):
    plan = plan_of(AXIS + FOLDS)
    assert len({trial.id for trial in plan.trials}) == len(plan.trials) == 2 * 3 * 2
    assert {trial.variant for trial in plan.trials} == {"lru", "gru"}
    assert {(trial.replicate, trial.seed) for trial in plan.trials} == {
        (f"seed={fold}", seed) for fold in (5, 6, 7) for seed in (0, 1)
    }
    assert all("seed" not in str(trial.axes) for trial in plan.trials)
    same = {trial.id for trial in plan_of(AXIS + "datasets.ring_transfer.seed = 6").trials}
    assert same == {trial.id for trial in plan.trials if trial.replicate == "seed=6"}  # nothing is trained again


def test_tuning_chooses_over_all_replicates(plan_of):
    plan = plan_of(FOLDS + "study.tune = {'fit.learning_rate': (0.1, 0.2)}")
    assert (len(plan.trials), plan.is_tuning) == (2 * 3, True)
    final = after_tuning(plan, lambda trial: trial.settings["fit.learning_rate"])
    assert {trial.settings["fit.learning_rate"] for trial in final.trials} == {0.2}
    assert {trial.replicate for trial in final.trials} == {"seed=5", "seed=6", "seed=7"}
    assert len(final.trials) == 3 * 2


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (FOLDS + "study.axes = {'datasets.ring_transfer.seed': (1, 2)}", "either compared or averaged over"),
        ("study.replicates = {'FOLD': ()}", "needs a list of values"),
        ("study.margin = -1.0", "study.margin is a number above 0"),
        ("study.margin = {'accuracy': 0.0}", "study.margin['accuracy'] is a number above 0"),
        ("study.compare = 'everything'", "study.compare is one of base, all"),
        (FOLDS + "study.most_trials = 5", "6 trials in all"),
    ],
)
def test_mistakes_end_in_one_sentence(plan_of, text, said):
    with pytest.raises(UserError) as error:
        plan_of(text)
    assert said in str(error.value)


def test_a_replicate_cannot_be_set_beside_it(plan_of):
    with pytest.raises(UserError, match="is an axis of this study"):
        plan_of(FOLDS, "datasets.ring_transfer.seed = 3")


def test_the_report_reads_what_the_study_says(plan_of, tmp_path):
    plan = plan_of(AXIS + FOLDS + "study.margin = {'accuracy': 0.05, 'mae': 1}\nstudy.compare = 'all'")
    uri = f"sqlite:///{tmp_path / 'mlflow.db'}"
    tracker = Tracker(plan.study, uri)
    tracker.begin("a command", [])
    tracker.add_plan(plan.trials, is_tuning=False)
    found = read_study(StudyRuns.existing(plan.study, uri)).results
    assert set(found["margin"]) == {0.05}
    assert set(found["compare"]) == {"all"}
    assert set(found["replicate"]) == {"seed=5", "seed=6", "seed=7"}
    splits = json.loads(json.dumps(plan.trials[0].compared))
    assert set(found["test_share"]) == {splits["test_share"]}
    assert set(found["train_graphs"]) == {splits["train_graphs"]} == {12}
    assert 0 < splits["test_share"] < 1
    assert comparisons(found).iloc[0][["method", "margin", "verdict"]].tolist() == [
        "paired t, Nadeau-Bengio", 0.05, "untested"
    ]  # fmt: skip
    assert plan_of(AXIS).trials[0].compared == {"train_graphs": 12}
