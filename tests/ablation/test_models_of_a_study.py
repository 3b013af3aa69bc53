"""Models as an axis of a study, one of the user's own among them: real commands, from the gin file to the answers."""

import re
import shutil

import pandas as pd
import pytest
from helpers.commands import run
from helpers.own_files import EXAMPLES
from helpers.studies import WITHOUT_AXES, TinyStudy

AXES = """
study.axes = {'variant.model': ['gred', 'gps', 'gin', 'two_looks']}
study.match_params = True
DIM = 64
SEEDS = (0,)
"""


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """Four models with as many parameters as the first one, trained to a report."""
    folder = tmp_path_factory.mktemp("models")
    made = TinyStudy(folder, WITHOUT_AXES.replace("DIM = 8\n", "").replace("SEEDS = (0, 1)\n", "") + AXES, reports=True)
    shutil.copy(EXAMPLES / "two_looks.py", folder)
    said = made.run("--import", "two_looks", "--jobs", "2")
    assert said.returncode == 0, said.stderr
    return made


def test_every_model_is_in_the_report_with_about_the_same_number_of_parameters(study):
    results = pd.read_parquet(study.folder / "reports" / "tiny" / "results.parquet")
    assert set(results["variant"]) == {"gred", "gps", "gin", "two_looks"}
    assert set(results["state"]) == {"finished"}
    counts = results.groupby("variant")["parameters"].first()
    assert ((counts / counts["gred"] - 1).abs() < 0.1).all(), counts
    page = (study.folder / "reports" / "tiny" / "index.html").read_text()
    assert all(name in page for name in counts.index)


def test_settings_of_parts_that_a_model_does_not_ask_for_are_not_tracked(study):
    for known in study.trials().values():
        if known.tags["variant"] != "gred":
            assert not [name for name in known.params if name.startswith(("encoders.", "aggregators."))]


def test_the_same_command_again_trains_nothing(study):
    again = study.run("--import", "two_looks", "--jobs", "2", "--no-report")
    assert "4 finished before" in again.stdout


def test_k_has_no_effect_on_models_that_read_no_hops(study, tmp_path):
    other = TinyStudy(tmp_path, WITHOUT_AXES + "study.axes = {'variant.model': ['gred', 'gin'], 'K': [1, 2]}\n")
    said = other.run("--dry-run")
    assert said.returncode == 0, said.stderr
    assert re.search(r"\b6 trials", said.stdout), said.stdout  # gin is trained once for both values of K, on two seeds


@pytest.mark.parametrize("variant", ["gps", "gin", "two_looks"])
def test_a_stored_model_of_any_kind_answers(study, variant):
    known = next(one for one in study.trials().values() if one.tags["variant"] == variant)
    command = ["-m", "gredkit.predict", "--run", known.run, "--tracking-uri", study.uri, "--data", "ring_transfer"]
    said = run(*command, "--split", "test", "--import", "two_looks", cwd=study.folder)
    assert said.returncode == 0, said.stderr
    score = float(re.search(r"accuracy (\S+)", said.stderr)[1])
    assert score == pytest.approx(known.metrics["best/test"], abs=1e-6)
