"""What a report is made of is what MLflow was told: nothing is lost, nothing is made up."""

import pandas as pd
import psutil
import pytest
from helpers.tracked_studies import FATES, GIN, TrackedStudy, good

from gredkit.ablation.plan import after_tuning
from gredkit.errors import UserError
from gredkit.reports.reading import read_study
from gredkit.reports.study import RESULTS
from gredkit.tracking.runs import PLAN, StudyRuns
from gredkit.tracking.tracker import Tracker


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    study = TrackedStudy(tmp_path_factory.mktemp("finished"))
    study.tell(good)
    return study


def test_a_row_a_trial_with_all_its_settings(finished):
    study = finished.read()
    results = study.results.set_index("id")
    assert len(results) == len(finished.plan.trials) == 6
    assert list(study.results.columns[: len(RESULTS)]) == list(RESULTS)
    for trial in finished.plan.trials:
        row = results.loc[trial.id]
        assert (row["variant"], row["dataset"], row["seed"]) == (trial.variant, "ring_transfer", trial.seed)
        assert (row["state"], row["test"], row["epochs"]) == ("finished", pytest.approx(good(trial)), 3)
        assert row["axis:variant.encoder"] == trial.settings["encoder"] == row["setting:encoder"]
        assert {name: row[f"setting:{name}"] for name in trial.settings} == {
            name: str(value) for name, value in trial.settings.items()
        }
        assert row["note:made"] == "up"
        assert row["started"] <= row["ended"]
        assert finished.tracker.client.get_run(row["run"]).data.tags["trial_id"] == trial.id


def test_curves_eigenvalues_diameters_and_the_files(finished):
    study = finished.read()
    assert study.curves.groupby("id")["epoch"].apply(list).tolist() == [[0, 1, 2]] * 6
    one = study.curves[study.curves["id"] == finished.plan.trials[1].id]
    assert one["validation"].tolist() == pytest.approx([0.81, 0.86, 0.91 - 0.1 / 3], rel=1e-3)
    assert one["train_loss"].tolist() == pytest.approx([1, 1 / 2, 1 / 3], rel=1e-3)
    assert set(study.eigenvalues["variant"]) == {"lru"}
    assert study.eigenvalues.groupby(["seed", "moment", "layer"]).size().tolist() == [2] * 6
    ends = study.hop_weights[study.hop_weights["moment"] == "end"]
    assert ends[["variant", "seed", "layer", "hop", "weight"]].to_numpy().tolist() == [
        ["lru", seed, 0, hop, weight] for seed in (0, 1, 2) for hop, weight in enumerate((0.9, 0.1 * seed))
    ]
    assert study.diameters == {"ring_transfer": finished.plan.trials[0].diameters}
    assert study.files == {"tiny.gin": GIN}


def test_no_password_is_shown(finished):
    study = finished.read()
    assert study.command == "python -m gredkit.run --gin tiny.gin --tracking-uri http://somewhere"
    assert "secret" not in repr(study)


def test_a_store_in_the_working_folder_is_named_from_there(finished, tmp_path, monkeypatch):
    monkeypatch.chdir(finished.folder)
    assert finished.read().uri == "sqlite:///mlflow.db"
    StudyRuns.existing("tiny", finished.read().uri)
    monkeypatch.chdir(tmp_path)
    assert finished.read().uri == finished.uri


def test_a_plan_of_an_older_version_is_a_sentence(tmp_path):
    study = TrackedStudy(tmp_path)
    plan = {"trials": [{"id": trial.id, "variant": trial.variant} for trial in study.plan.trials]}
    study.tracker.client.log_dict(study.tracker.invocation, plan, PLAN)
    with pytest.raises(UserError, match="run its command again, python -m "):
        study.read()


def test_trials_without_a_score_have_their_state_and_what_was_planned(tmp_path):
    study = TrackedStudy(tmp_path)
    fates: list[float | str] = [*FATES, "running", "missing", 0.5]
    end = {trial.id: fate for trial, fate in zip(study.plan.trials, fates, strict=True)}
    study.tell(lambda trial: end[trial.id])
    results = study.read().results.set_index("id")
    for id, fate in end.items():
        assert results.loc[id, "state"] == ("finished" if fate == 0.5 else fate)
        assert results.loc[id, "message"] == FATES.get(str(fate), "")
    assert results[["axis:variant.encoder", "epochs", "parameters", "metric"]].notna().all(axis=None)
    assert results["test"].notna().sum() == 1
    lengths = study.read().curves.groupby("id").size()
    assert [lengths.get(id, 0) for id in end] == [2, 2, 2, 2, 0, 3]  # a running one is read from its history


def test_what_a_crash_left_running_is_interrupted(tmp_path):
    study = TrackedStudy(tmp_path)
    study.tell(lambda trial: "running" if trial.seed else 0.5)
    assert study.read().results["state"].value_counts().to_dict() == {"running": 4, "finished": 2}
    study.tracker.client.set_tag(study.tracker.invocation, "started", "0")  # of a process that had this one's number
    assert study.read().results["state"].value_counts().to_dict() == {"interrupted": 4, "finished": 2}
    assert {run.info.status for run in study.tracker.search("tags.state = 'running'")} == {"RUNNING"}  # only read


@pytest.mark.skipif(not psutil.LINUX, reason="elsewhere the start of a process is known only by the clock")
def test_setting_the_clock_makes_no_crash(tmp_path, monkeypatch):
    study = TrackedStudy(tmp_path)
    study.tell(lambda trial: "running")
    booted = psutil.boot_time()
    monkeypatch.setattr("psutil._pslinux.boot_time", lambda: booted + 3600)  # it is what the clock says
    assert study.tracker.alive(study.tracker.invocation) is not None
    assert set(study.read().results["state"]) == {"running"}


def test_a_tuned_study_has_both_kinds_of_trials(tmp_path):
    study = TrackedStudy(tmp_path, f"{GIN}\nstudy.tune = {{'fit.learning_rate': (0.001, 0.01)}}\n")
    study.tell(lambda trial: "failed" if trial.settings["fit.learning_rate"] == 0.01 else 0.6)
    tuning = study.read().results
    assert set(tuning["role"]) == {"tune"}
    final = after_tuning(study.plan, lambda trial: 0.6 if trial.settings["fit.learning_rate"] == 0.001 else None)
    study.tracker.add_plan(final.trials, final.is_tuning)
    study.tell(good, final)
    results = study.read().results
    assert (results["role"] == "final").sum() == len(final.trials) == 6
    assert set(results["id"]) == {*tuning["id"], *(trial.id for trial in final.trials)}
    assert (results["state"] == "failed").sum() == (tuning["state"] == "failed").sum() > 0


def test_a_study_that_never_began_is_empty(tmp_path):
    study = read_study(Tracker("empty", f"sqlite:///{tmp_path / 'mlflow.db'}"))
    assert study.results.empty
    assert list(study.results.columns) == list(RESULTS)


def test_the_last_invocation_counts(finished, tmp_path):
    again = Tracker("tiny", finished.uri)
    again.begin("python -m gredkit.run --gin other.gin", [])
    again.add_plan(finished.plan.trials, finished.plan.is_tuning)
    study = read_study(again)
    assert study.command.endswith("other.gin")
    pd.testing.assert_series_equal(study.results["state"], finished.read().results["state"])


def test_reading_makes_neither_a_store_nor_a_study(finished, tmp_path):
    with pytest.raises(UserError, match="there is no database"):
        StudyRuns.existing("tiny", f"sqlite:///{tmp_path / 'mlflow.db'}")
    assert not list(tmp_path.iterdir())
    with pytest.raises(UserError, match="did you mean 'tiny'"):
        StudyRuns.existing("tinny", finished.uri)
    assert finished.tracker.client.get_experiment_by_name("tinny") is None
