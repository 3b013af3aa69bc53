"""What of the paper has been run: from a store with real runs, and from none."""

import io

import pytest
from helpers.commands import fails_with_a_sentence, run
from helpers.studies import TinyStudy
from rich.console import Console

from gredkit.reports.paper import missing_models, paper_tables
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
    assert "python -m gredkit.run --gin ablations/paper/zinc.gin" in text
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
    ],
)
def test_a_run_counts_where_it_is_the_model_of_the_paper(model, trial, is_it):
    (rows,) = (rows for label, _, rows in paper_tables([trial]) if label == "tab:zinc")
    (row,) = (row for row in rows if row.model == model)
    assert bool(row.here) == is_it
    if is_it:
        assert (row.here, row.size, row.epochs) == ("0.3000", "505k", "100")
        assert row.steps == "8k"  # 78 batches, 100 times


def test_a_study_or_the_paper(tmp_path):
    result = run("-m", "gredkit.report", "--paper", "--study", "x", cwd=tmp_path)
    assert "not allowed with" in fails_with_a_sentence(result)
