from pathlib import Path

import pytest
from helpers.commands import ROOT, fails_with_a_sentence, run
from helpers.studies import empty_store

STUDIES = sorted(path.relative_to(ROOT).as_posix() for path in Path(ROOT, "ablations").glob("*.gin"))
TINY = (
    *("--set", "BUDGET='smoke'", "--set", "DATASETS=('ring_transfer',)"),
    *("--set", "datasets.ring_transfer.graphs=20", "--set", "DIM=24"),
)


def variants(table: list[str]) -> list[str]:
    """The first column of a Markdown table, without the rule below its head."""
    first = [line.split("|")[1].strip() for line in table if line.startswith("|")]
    return [cell for cell in first if set(cell) != {"-"}]


@pytest.mark.parametrize("study", STUDIES)
def test_every_study_runs_and_ends_in_a_report(study, tmp_path):
    is_fresh = "rnn_flavors" in study  # one of them as in an empty folder of a new user
    if not is_fresh:
        (tmp_path / "mlflow.db").write_bytes(empty_store())
    smaller = () if is_fresh else ("--set", "SEEDS=(0,)")
    if not is_fresh and "distance" not in study:
        smaller = (*smaller, "--no-distance")
    result = run("-m", "gredkit.run", "--gin", study, *TINY, *smaller, cwd=tmp_path, fresh=is_fresh)
    assert result.returncode == 0, result.stderr
    assert not result.stderr
    table = [line for line in result.stdout.splitlines() if line.startswith("|")]
    assert len(table) > 3
    assert ("over 2 seeds." in result.stdout) == is_fresh
    report = tmp_path / "reports" / Path(study).stem
    assert variants(table) == variants((report / "table.md").read_text().splitlines())
    assert f"report: {Path('reports', Path(study).stem, 'index.html')}" in result.stdout
    assert (report / "index.html").is_file()


def test_a_dry_run_shows_every_trial_and_leaves_nothing(tmp_path):
    result = run("-m", "gredkit.run", "--gin", "ablations/rnn_flavors.gin", *TINY, "--dry-run", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    for said in ("lru", "lstm", "rnn", "attention", "parameters", "8 trials, about"):
        assert said in result.stdout
    assert not list(tmp_path.iterdir())


def test_mistakes_end_in_one_sentence(tmp_path):
    study = ("--gin", STUDIES[0], *TINY)
    for arguments, said in (
        (("--gin", "ablations/rnn_flavours.gin"), "did you mean 'ablations/rnn_flavors.gin'"),
        ((*study, "--set", "nothing.here=1"), "gin does not know 'nothing'"),
        ((*study, "--set", "study.axes={'variant.encoder': ['lsmt']}"), "did you mean 'lstm'"),
        ((*study, "--set", "DATASETS=('ring_trasfer',)"), "did you mean 'ring_transfer'"),
        ((*study, "--set", "BUDGET='smok'"), "did you mean 'gin/budgets/smoke.gin'"),
        ((*study, "--set", "EPOHCS=3"), "did you mean 'EPOCHS'"),
        ((*study, "--set", "EPOCHS='x'"), "declared as int"),
        ((*study, "--import", "no_such_module"), "cannot import 'no_such_module'"),
        ((*study, "--launcher", "lokal"), "did you mean 'local'"),
        ((*study, "--launcher", "lokal", "--dry-run"), "did you mean 'local'"),
        ((*study, "--address", "auto"), "add --launcher ray"),
        ((*study, "--tracking-uri", "mlruns"), "use sqlite:///PATH"),
    ):
        assert said in fails_with_a_sentence(run("-m", "gredkit.run", *arguments, cwd=tmp_path))
        assert not list(tmp_path.glob(".gredkit/*/*"))
