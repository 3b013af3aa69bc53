"""What of the paper has been run: from a store with real runs, and from none."""

import io
from dataclasses import replace

import gin
import pytest
from helpers.commands import ROOT, fails_with_a_sentence, run
from helpers.studies import TinyStudy
from rich.console import Console

from gredkit import GraphSpec
from gredkit.config.source import Source, as_text
from gredkit.reports.paper import missing_models, other_budgets, paper_figures, paper_tables
from gredkit.reports.published import tables
from gredkit.reports.terminal import show_paper
from gredkit.tracking.runs import Known, all_trials

TREES = """
study.variants = {'GRED, r=2': {'DEPTH': 2}, 'GIN, r=2': {'variant.model': 'gin', 'DEPTH': 2},
                  'GIN, r=3': {'variant.model': 'gin', 'DEPTH': 3}}
include 'gin/datasets/tree_match.gin'
datasets.tree_match.graphs = 40
SEEDS = (0, 1)
EPOCHS = 2
LAYERS = 1
DIM = 8
fit.train_score = True
"""


def printed(trials):
    out = io.StringIO()
    show_paper(trials, Console(file=out, width=100))
    return out.getvalue()


def test_without_a_store_everything_is_missing(tmp_path):
    trials = all_trials(f"sqlite:///{tmp_path}/mlflow.db")
    assert trials == []
    assert not (tmp_path / "mlflow.db").exists()
    text = printed(trials)
    assert "0 of 85 numbers of the paper have runs here" in text
    for study in ("zinc", "peptides_func", "peptides_struct"):
        assert f"python -m gredkit.run --gin ablations/paper/{study}.gin" in text
    assert "the published GRIT 99,486: not the same budget" in text
    assert "| GRED | 0.0770 ± 0.0020 | 483k | - | - | - | - | - |" in " ".join(text.split())
    assert "KP-GIN" in text
    assert max(len(line) for line in text.splitlines() if line.startswith("|")) <= 100
    rows = sum(len(rows) for _, _, rows in paper_tables([]))
    others = sum(values["model"].isin(missing_models()).sum() for _, _, values in tables())
    assert rows + others == sum(len(values) for _, _, values in tables())


def test_runs_stand_beside_the_papers_numbers_with_their_budget(tmp_path):
    study = TinyStudy(tmp_path, TREES)
    result = study.run()
    assert result.returncode == 0, result.stderr
    trials = all_trials(study.uri)
    assert len(trials) == 6
    (rows,) = (rows for label, _, rows in paper_tables(trials) if label == "tab:tree_neighbor_match")
    there = {row.model: row for row in rows if row.here}
    assert list(there) == ["GIN r=2", "GIN r=3", "GRED r=2"]
    scores = [known.metrics["best/train"] for known in trials if known.tags["variant"] == "GRED, r=2"]
    gred = there["GRED r=2"]
    assert (gred.published, gred.epochs, gred.runs) == ("1.0000", "2", "2")
    assert gred.here.startswith(f"{sum(scores) / 2:.4f} ± ")
    assert gred.size == next(k.params["parameters"] for k in trials if k.tags["variant"] == "GRED, r=2")
    text = printed(trials)
    assert "3 of 12 numbers have runs here" in text
    assert "3 of 85 numbers of the paper have runs here" in text


def known(score, model="gcn", **params):
    """A finished trial on ZINC as MLflow tells it."""
    told = {
        "dataset": "zinc",
        "model": model,
        "metric": "mae",
        "parameters": "505079",
        "fit.batch_size": "128",
        **params,
    }
    return Known("run", {"state": "finished", "role": "final"}, {"best/test": score, "final/epoch": 99.0}, told)


@pytest.mark.parametrize(
    ("model", "trial", "is_it"),
    [
        ("GCN", known(0.3), True),
        ("GRED", known(0.3, "gred", K="4", **{"models.gred.layers": "11", "models.gred.dim": "72"}), True),
        ("GRED", known(0.3, "gred", K="1", **{"models.gred.layers": "11", "models.gred.dim": "72"}), False),
        ("GRED", known(0.3, "gred", K="4", **{"models.gred.layers": "2", "models.gred.dim": "72"}), False),
        ("GRED", known(0.3, "gred", K="4", encoder="mean"), False),
        ("GRED", known(0.3, "gred", K="4", positional="lap_pe"), False),
        ("GCN", known(0.3, metric="rmse"), False),
        ("GCN", known(0.3, **{"models.gcn.ffn": "True"}), False),
        ("GCN", known(0.3, positional="rwse"), False),
        ("GCN", known(0.3, edge_features="embedding"), False),
        ("GatedGCN", known(0.3, "gatedgcn", edge_features="embedding"), True),
        ("GIN", known(0.3, "gin", **{"models.gin.norm": "none", "models.gin.learn_eps": "False"}), False),
    ],
)
def test_a_run_counts_where_it_is_the_model_of_the_paper(model, trial, is_it):
    (rows,) = (rows for label, _, rows in paper_tables([trial]) if label == "tab:zinc")
    (row,) = (row for row in rows if row.model == model)
    assert bool(row.here) == is_it
    if is_it:
        assert (row.here, row.size, row.epochs) == ("0.3000", "505k", "100")
        assert row.steps == "8k"  # 78 batches, 100 times


def as_run(file, entry, told):
    """A finished trial with the settings of a gin file, without training."""
    configuration = Source((file,)).load(entry, "paper", told)
    trial, spec = configuration.trial, GraphSpec(nodes=(28,) * 9, edges=(4,), outputs=1)
    settings = {"dataset": trial.dataset, "K": trial.K, **configuration.composition(spec).flat(), "parameters": 500_000}
    gin.clear_config()
    metric = "average_precision" if trial.dataset == "peptides_func" else "mae"
    return known(0.5, **{key: str(value) for key, value in settings.items()} | {"metric": metric})


RE_TUNED = {"GCN": "GCN*", "GIN": "GINE*", "GatedGCN": "GatedGCN*"}


@pytest.mark.parametrize(("study", "names"), [("zinc", {}), ("peptides_func", RE_TUNED), ("peptides_struct", RE_TUNED)])
def test_every_variant_of_a_study_stands_in_its_own_row_and_newer_models_in_none(study, names, monkeypatch):
    monkeypatch.chdir(ROOT)
    file = f"ablations/paper/{study}.gin"
    points = Source((file,)).load(study, "paper").study.points()
    assert len(points) >= 9
    for point in points:
        trial = as_run(file, study, as_text(point.bindings.items()))
        found = [row.model for _, _, rows in paper_tables([trial]) for row in rows if row.here]
        wanted = [] if point.label.endswith("+") else [names.get(point.label, point.label)]
        assert found == wanted, point.label


@pytest.mark.parametrize("file", ["cifar10/gcn_plus", "cifar10/gin_plus", "cifar10/gatedgcn_plus"])
def test_newer_models_of_cifar10_are_in_no_row(file, monkeypatch):
    monkeypatch.chdir(ROOT)
    trial = as_run(f"gin/models/{file}.gin", None, ())
    trial.params["metric"] = "accuracy"
    plain = {**trial.params, f"models.{trial.params['model']}.ffn": "False", "edge_features": "None"}
    plain[f"models.{trial.params['model']}.norm"] = "batch"
    rows = [row for _, _, rows in paper_tables([trial]) for row in rows if row.here]
    assert not rows
    rows = [row for _, _, rows in paper_tables([replace(trial, params=plain)]) for row in rows if row.here]
    assert [row.dataset for row in rows] == ["cifar10"]


def test_the_retuned_gps_is_not_the_papers(monkeypatch):
    monkeypatch.chdir(ROOT)
    for file, is_it in (("gps", True), ("gps_tuned", False)):
        trial = as_run(f"gin/models/peptides_func/{file}.gin", None, ())
        assert any(row.here for _, _, rows in paper_tables([trial]) for row in rows) == is_it


def test_models_of_quite_another_size_are_named():
    tables_here = {label: rows for label, _, rows in paper_tables([known(0.3), known(0.2, "pna", parameters="369235")])}
    assert list(other_budgets(tables_here["tab:zinc"])) == [
        "On zinc the published GRED has 483,049 parameters, the published GIN and PNA about 100k: not the same budget.",
        "On zinc the published PNA has about 100k parameters, the model here 369,235: not the same budget.",
    ]
    assert list(other_budgets(tables_here["tab:speed"])) == [
        "On cifar10 the published GRED has about 510k parameters, the published GRIT 99,486: not the same budget."
    ]
    first, second = other_budgets(tables_here["tab:accuracy"])
    assert first.startswith("On mnist the published GRED has about 500k parameters, the published GCN, GAT, GIN")
    assert second.startswith("On cifar10 the published GRED has about 510k parameters, the published GCN, GAT, GIN")
    assert not list(other_budgets(tables_here["tab:lrgb"]))


def test_figures_and_their_datasets():
    told = {title: (study, text) for title, study, text in paper_figures([])}
    assert told["Learned (complex) eigenvalues"] == ("flavours", "cifar10 -; peptides_func -")
    assert set(told["Effect of K on performance"][1].split("; ")) == {"cifar10 -", "zinc -", "peptides_func -"}


def test_a_study_or_the_paper(tmp_path):
    result = run("-m", "gredkit.report", "--paper", "--study", "x", cwd=tmp_path)
    assert "not allowed with" in fails_with_a_sentence(result)
