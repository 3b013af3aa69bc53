"""The end of a run: what comes next, as commands that work."""

import shlex
import statistics

import pytest
import scipy.stats
from helpers.commands import run
from helpers.studies import STUDY, WITHOUT_AXES, TinyStudy
from helpers.terminals import run_in_terminal

OWN = """
from gredkit.nn.encoders.mean import Mean
from gredkit.registry import ENCODERS

@ENCODERS.register("own_mean")
class Own(Mean):
    '''The mean by another name.'''

    def forward(self, z, hops):
        return super().forward(z, hops)
"""


def commands(printed: str, label: str) -> list[str]:
    """What stands behind a label, each on one line."""
    return [line.removeprefix(f"{label}: ") for line in printed.splitlines() if line.startswith(f"{label}: ")]


def works(command: str, study: TinyStudy) -> str:
    """Run a printed command; returns its output."""
    python, *arguments = shlex.split(command)
    assert python == "python"
    result = run(*arguments, cwd=study.folder)
    assert result.returncode == 0, result.stderr
    return result.stdout + result.stderr


def test_in_a_terminal_it_names_the_best_run_and_the_command_that_uses_it(tmp_path):
    study = TinyStudy(tmp_path, WITHOUT_AXES, reports=True)
    code, printed = run_in_terminal("-m", "gredkit.run", "--gin", "tiny.gin", cwd=tmp_path, columns=100)
    assert code == 0, printed
    assert "Warning" not in printed
    assert commands(printed, "report") == ["reports/tiny/index.html"]
    assert commands(printed, "MLflow") == [f"mlflow ui --backend-store-uri {study.uri}"]
    (command,) = commands(printed, "use its model")
    run_id = shlex.split(command)[4]
    best = max(study.trials().values(), key=lambda known: known.metrics["best/validation"])
    assert study.tracker().client.get_run(run_id).data.metrics["best/validation"] == best.metrics["best/validation"]
    assert f"MLflow run {run_id}" in " ".join(printed.split())
    assert "ring_transfer, test: accuracy" in works(command, study)
    shows_the_result_at_first_sight(study)


def shows_the_result_at_first_sight(study: TinyStudy) -> None:
    """The run of the invocation, in MLflow."""
    client = study.tracker().client
    (parent,) = study.tracker().invocations()
    scores = [known.metrics["best/test"] for known in study.trials().values()]
    assert len(scores) == 2
    metrics = parent.metrics
    assert metrics["test/ring_transfer/base"] == pytest.approx(statistics.fmean(scores))
    expected = scipy.stats.t.interval(0.95, 1, statistics.fmean(scores), statistics.stdev(scores) / 2**0.5)
    assert [metrics[f"test/ring_transfer/base/{end}"] for end in ("low", "high")] == pytest.approx(list(expected))
    assert parent.tags["best/ring_transfer"].startswith("base (")
    note = parent.tags["mlflow.note.content"]
    assert "Which variant is best on ring_transfer?" in note
    assert "| base |" in note
    files = {file.path for file in client.list_artifacts(parent.run, "report")}
    assert {"report/index.html", "report/table.md", "report/flavours.png"} <= files


def test_a_pipe_has_the_same_lines_and_the_command_has_all_that_it_needs(tmp_path):
    study = TinyStudy(tmp_path, STUDY.replace("('lru', 'mean')", "('own_mean',)"), has_store=False)
    (tmp_path / "own.py").write_text(OWN)
    uri = f"sqlite:///{tmp_path / 'elsewhere.db'}"
    result = study.run("--import", "own", "--tracking-uri", uri, "--set", "SEEDS=(0,)")
    assert result.returncode == 0, result.stderr
    (command,) = commands(result.stdout, "use its model")
    assert "--import own" in command
    assert f"--tracking-uri {uri}" in command
    assert "ring_transfer, test: accuracy" in works(command, study)
    (again,) = commands(result.stdout, "to write a report")
    assert "report: reports/tiny/index.html" in works(again, study)


def test_a_study_whose_trials_all_failed_names_no_model(tmp_path):
    (tmp_path / "own.py").write_text(
        OWN.replace("return super()", "raise RuntimeError('broken')\n        return super()")
    )
    study = TinyStudy(tmp_path, STUDY.replace("('lru', 'mean')", "('own_mean',)"))
    result = study.run("--import", "own", "--set", "SEEDS=(0, 1)")
    assert result.returncode == 1
    assert not commands(result.stdout, "use its model")
    assert result.stdout.count("broken") >= 2
