"""`trial.loss` and `trial.metric`: what a user chooses instead of a dataset's own objective."""

import json
from pathlib import Path

import pytest
import torch
from helpers.commands import run as command
from helpers.studies import TinyStudy

from gredkit.ablation.dataset import about_data, load_task
from gredkit.ablation.plan import make_plan
from gredkit.ablation.record import gin_text
from gredkit.config.bindings import load
from gredkit.config.source import Source
from gredkit.errors import UserError
from gredkit.registry import AGGREGATORS

SOLUBILITY = Path(__file__).parents[1] / "examples" / "solubility.csv"
NUMBERS = f"""
LAYERS = 1
DIM = 8
SEEDS = (0,)
EPOCHS = 2
K = 2
trial.dataset = 'smiles_csv'
datasets.smiles_csv.path = '{SOLUBILITY}'
datasets.smiles_csv.targets = 'logp'
"""


@pytest.fixture
def trials_of(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def make(*lines):
        (tmp_path / "study.gin").write_text("\n".join([NUMBERS, *lines]))
        return make_plan(Source(("study.gin",))).trials

    return make


def test_without_a_choice_the_objective_is_that_of_the_dataset(trials_of):
    (trial,) = trials_of()
    assert (trial.metric, trial.larger_is_better) == ("mae", False)
    assert (trial.settings["loss"], trial.settings["metric"]) == (None, None)


def test_loss_and_metric_are_replaced_and_count_for_the_id(trials_of):
    (own,) = trials_of()
    (l2,) = trials_of("trial.loss = 'l2'")
    (r2,) = trials_of("trial.metric = 'r2'")
    (huber,) = trials_of("trial.loss = 'huber'")
    (wide,) = trials_of("trial.loss = 'huber'", "losses.huber.delta = 2.0")
    assert len({trial.id for trial in (own, l2, r2, huber, wide)}) == 5
    assert (r2.metric, r2.larger_is_better) == ("r2", True)
    assert (huber.settings["losses.huber.delta"], wide.settings["losses.huber.delta"]) == (1.0, 2.0)
    assert not any(name.startswith("losses.") for name in l2.settings)


def test_the_objective_of_the_dataset_chosen_by_name_is_the_same_trial(trials_of):
    assert trials_of("trial.loss = 'l1'", "trial.metric = 'mae'")[0].id == trials_of()[0].id


def test_settings_of_a_loss_that_is_not_chosen_do_not_count(trials_of):
    assert trials_of("losses.huber.delta = 3.0")[0].id == trials_of()[0].id


def test_losses_can_be_an_axis(trials_of):
    trials = trials_of("study.axes = {'trial.loss': ('l1', 'l2', 'huber')}")
    assert [trial.settings["loss"] for trial in trials] == ["l1", "l2", "huber"]
    assert len({trial.id for trial in trials}) == 3


def test_all_settings_as_gin_are_the_same_trial(trials_of, tmp_path):
    (trial,) = trials_of("trial.loss = 'huber'", "losses.huber.delta = 2.0", "trial.metric = 'rmse'")
    (tmp_path / "config.gin").write_text(gin_text(trial.id, trial.study, trial.settings))
    (again,) = make_plan(Source(("config.gin",))).trials
    assert (again.id, again.metric) == (trial.id, "rmse")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (
            "trial.loss = 'cross_entropy'",
            "'cross_entropy' does not fit a task of regression: choose from huber",
        ),
        ("trial.metric = 'accuracy'", "the metric 'accuracy' does not fit a task of regression: choose from mae"),
        ("trial.loss = 'hubert'", "unknown loss 'hubert': did you mean 'huber'"),
        ("trial.metric = 'r3'", "unknown metric 'r3': did you mean 'r2'"),
        ("trial.loss = 'huber'\nlosses.huber.delta = -1.0", r"losses\.huber\.delta is a number above 0, not -1\.0"),
        ("trial.loss = 7", r"trial\.loss cannot be 7"),
        (
            "study.axes = {'trial.metric': ('mae', 'rmse')}",
            "have different metrics, mae and rmse",
        ),
    ],
)
def test_mistakes_are_seen_before_any_training(trials_of, line, said):
    with pytest.raises(UserError, match=said):
        trials_of(line)


def test_the_task_that_a_trial_trains_on_has_the_chosen_objective(tmp_path):
    (tmp_path / "study.gin").write_text(
        f"{NUMBERS}\ntrial.loss = 'huber'\nlosses.huber.delta = 0.5\ntrial.metric = 'rmse'"
    )
    configuration = load([str(tmp_path / "study.gin")])
    for found in (load_task(configuration).objective, about_data(configuration).objective):
        assert (found.loss_name, found.metric.name, found.kind) == ("huber", "rmse", "regression")
        assert found.loss(torch.tensor([[3.0]]), torch.tensor([1.0])) == 0.5 * (2 - 0.25)
        assert found.metric.score(torch.tensor([[3.0], [0.0]]), torch.tensor([[1.0], [0.0]])) == pytest.approx(2**0.5)


OWN = '''
from gredkit.registry import LOSSES, METRICS

@LOSSES.register("cubed", tasks=["regression"])
def cubed(outputs, targets, scale: float = 1.0):
    """The mean cubed error."""
    return scale * (outputs - targets.view_as(outputs)).abs().pow(3).mean()

@METRICS.register("worst", label="largest error", larger_is_better=False)
def worst(outputs, targets):
    """The largest error of all."""
    return (outputs - targets.view_as(outputs)).abs().max().item()
'''


def test_a_loss_and_a_metric_of_a_users_own_reach_mlflow_the_report_and_the_stored_model(tmp_path):
    """One line above each function, and `--import`."""
    lines = "trial.loss = 'cubed'\nlosses.cubed.scale = 0.5\ntrial.metric = 'worst'"
    study = TinyStudy(tmp_path, f"{NUMBERS}\nSEEDS = (0, 1)\n{lines}", reports=True)
    (tmp_path / "own_objective.py").write_text(OWN)
    done = study.run("--import", "own_objective")
    assert done.returncode == 0, done.stderr
    for known in study.trials().values():
        assert known.state == "finished"
        assert (known.params["loss"], known.params["metric"]) == ("cubed", "worst")
        assert known.params["losses.cubed.scale"] == "0.5"
    client = study.tracker().client
    (run, *_) = study.trials().values()
    told = json.loads(Path(client.download_artifacts(run.run, "model/model.json", str(tmp_path))).read_text())
    names = ("task", "loss", "metric", "larger_is_better")
    assert [told[name] for name in names] == ["regression", "cubed", "worst", False]
    for page in ("table.md", "index.html"):
        assert "largest error" in (tmp_path / "reports" / "tiny" / page).read_text()
    asked = ("--run", run.run, "--data", "smiles_csv", "--split", "test", "--import", "own_objective")
    predicted = command("-m", "gredkit.predict", *asked, cwd=tmp_path)
    assert predicted.returncode == 0, predicted.stderr
    score = float(predicted.stderr.split("smiles_csv, test: worst ")[1])
    assert score == pytest.approx(run.metrics["best/test"], rel=1e-5)


# The knob SCATTER.


def test_one_knob_reaches_every_aggregator_and_a_binding_of_its_own_wins():
    configuration = load([], ["SCATTER='auto'", "aggregators.max.backend='native'"])
    found = {name: configuration.settings(AGGREGATORS, name)["backend"] for name in AGGREGATORS}
    assert found == {**dict.fromkeys(AGGREGATORS, "auto"), "max": "native"}
    assert {load([]).settings(AGGREGATORS, name)["backend"] for name in AGGREGATORS} == {"native"}
    assert AGGREGATORS["sum"](3).backend == "native"  # what is built by hand does not read the knob


@pytest.mark.needs("torch-scatter")
def test_torch_scatter_is_part_of_the_id_and_trains_to_the_same_scores(tmp_path):
    scores = {}
    for backend in ("native", "torch_scatter"):
        study = TinyStudy(tmp_path / backend, f"{NUMBERS}\nSCATTER = '{backend}'\nvariant.aggregator = 'pna'")
        done = study.run()
        assert done.returncode == 0, done.stderr
        ((name, scored),) = study.scores().items()
        scores[name] = scored
    first, second = scores.values()
    assert len(scores) == 2
    assert first == pytest.approx(second, rel=1e-4)
