"""What MLflow holds after a study, on a SQLite store and on a real server that goes away for a while."""

import json

import pytest
from helpers.commands import run
from helpers.mlflow_server import MlflowServer, free_port
from helpers.studies import LONG_HALF, TRIALS, WITHOUT_AXES, TinyStudy

from gredkit import add_hops
from gredkit.ablation.plan import make_plan
from gredkit.config.source import Source
from gredkit.data.datasets.ring_transfer import ring_transfer
from gredkit.inference.saved import load_folder
from gredkit.tracking.tracker import Tracker
from gredkit.training.evaluation import evaluate

MODEL = {"MLmodel", "model.json", "weights.safetensors"}
ONE = WITHOUT_AXES.replace("(0, 1)", "(3,)")


@pytest.fixture(scope="module")
def one_trial(tmp_path_factory):
    """A study of one trial, its run, and the folder of its artifacts."""
    study = TinyStudy(tmp_path_factory.mktemp("one"), ONE)
    result = study.run()
    assert result.returncode == 0, result.stderr
    (known,) = study.trials().values()
    return study, known, next(study.folder.glob(f"mlartifacts/tiny/{known.run}/artifacts"))


def test_tags_and_parameters_say_which_trial_it_is(one_trial):
    study, known, _ = one_trial
    tags = known.tags
    assert {key: tags[key] for key in ("kind", "study", "variant", "dataset", "seed", "role", "state")} == {
        "kind": "trial", "study": "tiny", "variant": "base", "dataset": "ring_transfer", "seed": "3", "role": "final",
        "state": "finished",
    }  # fmt: skip
    run = study.tracker().client.get_run(known.run)
    params = run.data.params
    assert (params["encoder"], params["K"], params["seed"], params["fit.epochs"]) == ("lru", "None", "3", "3")
    assert params["models.gred.dim"] == "8"
    assert int(params["parameters"]) > 100
    parent = study.tracker().client.get_run(tags["mlflow.parentRunId"])
    assert parent.data.tags["kind"] == "study"
    assert parent.data.tags["command"] == "python -m gredkit.run --gin tiny.gin --no-report"
    assert run.info.status == parent.info.status == "FINISHED"


def test_every_epoch_is_there_and_the_best_under_names_that_sort(one_trial):
    study, known, _ = one_trial
    client = study.tracker().client
    for name in ("train/loss", "train/learning_rate", "validation/loss", "validation/score",
                 "cost/seconds_per_epoch", "cost/graphs_per_second", "cost/peak_mb"):  # fmt: skip
        assert [point.step for point in client.get_metric_history(known.run, name)] == [0, 1, 2], name
    scores = [point.value for point in client.get_metric_history(known.run, "validation/score")]
    assert known.metrics["best/validation"] == max(scores)
    assert known.metrics["best/epoch"] == scores.index(max(scores))
    assert known.metrics["final/validation"] == scores[-1]
    assert {point.step for point in client.get_metric_history(known.run, "best/test")} == {0}


def test_files_say_all_of_it_again(one_trial, monkeypatch):
    study, known, artifacts = one_trial
    monkeypatch.chdir(study.folder)
    (again,) = make_plan(Source((str(artifacts / "config.gin"),))).trials
    assert again.id == known.tags["trial_id"]
    environment = json.loads((artifacts / "environment.json").read_text())
    assert environment["packages"]["torch"]
    eigenvalues = json.loads((artifacts / "eigenvalues.json").read_text())
    (start,), (end,) = eigenvalues["start"], eigenvalues["end"]
    assert (
        len(start["real"]) == len(end["imag"]) == 8
    )  # one for each number of the state, which is as wide as the model
    assert start != end
    assert all(0.9**2 - 1e-4 <= re**2 + im**2 <= 1 for re, im in zip(start["real"], start["imag"], strict=True))
    weights = json.loads((artifacts / "hop_weights.json").read_text())
    (start,), (end,) = weights["start"], weights["end"]
    assert len(start) == len(end) == 1 + 2  # K is None, and the far side of the ring is two hops away
    trained = load_folder(artifacts / "model").model.layers[0].encoder
    assert end == pytest.approx(trained.hop_weights(3).tolist(), rel=1e-5)
    assert start != pytest.approx(end, rel=1e-5)
    assert {file.name for file in (artifacts / "model").iterdir()} == MODEL


def test_the_dataset_has_its_name_the_hash_of_its_graphs_and_the_sizes_of_its_splits(one_trial):
    study, known, _ = one_trial
    tracker = study.tracker()
    (given,) = tracker.client.get_run(known.run).inputs.dataset_inputs
    hashes = json.loads(tracker.text(known.tags["mlflow.parentRunId"], "data.json"))
    assert {given.dataset.name: [given.dataset.digest]} == hashes
    sizes = {split: len(numbers) for split, numbers in ring_transfer(distance=2, graphs=40).splits.items()}
    assert json.loads(given.dataset.profile) == {"num_rows": 40, **sizes}
    found = tracker.search(f"dataset.name = 'ring_transfer' and dataset.digest = '{given.dataset.digest}'")
    assert [run.info.run_id for run in found] == [known.run]


def test_metrics_of_the_machine_are_tracked_if_the_environment_asks(one_trial, tmp_path, monkeypatch):
    _, without, _ = one_trial
    assert not [name for name in without.metrics if name.startswith("system/")]
    monkeypatch.setenv("MLFLOW_ENABLE_SYSTEM_METRICS_LOGGING", "true")
    study = TinyStudy(tmp_path, ONE)
    result = study.run()
    assert result.returncode == 0, result.stderr
    (known,) = study.trials().values()
    client = study.tracker().client
    for name in ("cpu_utilization_percentage", "system_memory_usage_megabytes", "disk_usage_percentage"):
        points = client.get_metric_history(known.run, f"system/{name}")
        assert [point.step for point in points] == [0, 1, 2], name
        assert all(point.value >= 0 for point in points)
    assert known.tags["trial_id"] == without.tags["trial_id"]


def test_what_K_came_to_and_the_training_score_are_kept(tmp_path):
    study = TinyStudy(tmp_path, ONE + "trial.K = 'dataset'\nfit.train_score = True\n")
    result = study.run()
    assert result.returncode == 0, result.stderr
    (known,) = study.trials().values()
    assert (known.params["K"], known.params["last_hop"]) == ("dataset", "2")
    trained = load_folder(next(study.folder.glob(f"mlartifacts/tiny/{known.run}/artifacts/model")))
    assert trained.about.K == 2
    task = ring_transfer(distance=2, graphs=40)
    train = [add_hops(graph, 2) for graph in task.part("train")]
    assert known.metrics["best/train"] == pytest.approx(evaluate(trained.model, train, task).score)
    artifacts = next(study.folder.glob(f"mlartifacts/tiny/{known.run}/artifacts"))
    assert "trial.K = 'dataset'" in (artifacts / "config.gin").read_text()


def test_without_being_asked_there_is_no_training_score(one_trial):
    _, known, _ = one_trial
    assert known.params["last_hop"] == "diameter"
    assert "best/train" not in known.metrics


def test_the_model_predicts_what_was_tested(one_trial):
    study, known, _ = one_trial
    command = ["-m", "gredkit.predict", "--run", known.run, "--data", "ring_transfer", "--split", "test"]
    said = run(*command, "--out", "p.csv", cwd=study.folder)
    assert said.returncode == 0, said.stderr
    assert float(said.stderr.split()[-1]) == pytest.approx(known.metrics["best/test"], abs=1e-4)


def test_two_studies_that_start_at_once_share_a_new_store(tmp_path):
    studies = [TinyStudy(tmp_path / name, ONE) for name in ("first", "second")]
    shared = f"sqlite:///{tmp_path / 'shared.db'}"
    names = ("--set", "study.name='first'"), ("--set", "study.name='second'")
    running = [s.start("--tracking-uri", shared, *name) for s, name in zip(studies, names, strict=True)]
    for process in running:
        _, err = process.communicate(timeout=120)
        assert process.returncode == 0, err
    for name in ("first", "second"):
        assert [known.state for known in Tracker(name, shared).trials().values()] == ["finished"]


def test_an_experiment_that_was_deleted_and_a_store_that_is_not_there_are_sentences(one_trial, tmp_path):
    study, _, _ = one_trial
    nowhere = study.run("--tracking-uri", f"http://127.0.0.1:{free_port()}")
    assert nowhere.returncode == 1
    assert nowhere.stderr.startswith("error: MLflow does not answer at http://127.0.0.1")
    assert len(nowhere.stderr.splitlines()) == 1
    deleted = TinyStudy(tmp_path, ONE)
    tracker = deleted.tracker()
    tracker.client.delete_experiment(tracker.experiment)
    result = deleted.run()
    assert result.returncode == 2
    assert "mlflow experiments restore" in result.stderr


def test_a_trial_needs_few_requests(tmp_path):
    """15, and one more each time that epochs are sent before its end; the study itself needs 19."""
    server = MlflowServer(tmp_path)
    try:
        result = TinyStudy(tmp_path / "study").run("--tracking-uri", server.uri)
        assert result.returncode == 0, result.stderr
        asked = server.requests()
    finally:
        server.stop()
    batches = sum(request.startswith("POST") and "runs/log-batch" in request for request in asked)
    at_least = 2 * TRIALS + 1  # at the start and at the end of each, and the end of the study
    assert at_least <= batches <= at_least + 2 * TRIALS
    assert 19 + 13 * TRIALS <= len(asked) <= 19 + 15 * TRIALS + batches - at_least


@pytest.fixture
def server(tmp_path):
    server = MlflowServer(tmp_path, by_command=True)
    yield server
    server.stop()


def test_a_server_that_goes_away_is_told_later(server, tmp_path):
    study = TinyStudy(tmp_path / "study")
    process = study.start("--tracking-uri", server.uri, *LONG_HALF)
    study.wait_for_epochs(process, 5)
    server.stop()
    before = sum('"ended"' in line for line in study.events())
    study.wait_for(process, lambda: sum('"ended"' in line for line in study.events()) > before)  # training goes on
    process.wait_for("MLflow does not answer")  # requests are repeated for a while before that
    server.start()
    out, err = process.communicate(timeout=200)
    assert process.returncode == 0, err
    assert "MLflow answers again" in out
    tracker = Tracker("tiny", server.uri)
    trials = tracker.trials()
    assert [known.state for known in trials.values()] == ["finished"] * (TRIALS // 2)
    for known in trials.values():
        history = tracker.client.get_metric_history(known.run, "train/loss")
        assert sorted(point.step for point in history) == list(range(40))
        stored = {file.path for file in tracker.client.list_artifacts(known.run, "model")}
        assert stored == {f"model/{name}" for name in MODEL}
    assert not list(study.folder.glob(".gredkit/*/*/trial.json"))
