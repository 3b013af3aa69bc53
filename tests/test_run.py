from pathlib import Path

import pytest
from commands import ROOT, fails_with_a_sentence, run

STUDIES = sorted(path.relative_to(ROOT).as_posix() for path in Path(ROOT, "ablations").glob("*.gin"))
TINY = ("--set", "SEEDS=(0, 1)", "--set", "EPOCHS=1", "--set", "datasets.ring_transfer.graphs=20")


@pytest.mark.parametrize("study", STUDIES)
def test_every_study_runs_and_ends_in_a_table(study):
    result = run("-m", "gredkit.run", "--gin", study, *TINY)
    assert result.returncode == 0, result.stderr
    table = [line for line in result.stdout.splitlines() if line.startswith("|")]
    assert len(table) > 3
    assert all(line.endswith("| 2 |") for line in table[2:])


def test_mistakes_end_in_one_sentence():
    study = ("--gin", STUDIES[0])
    for arguments, said in (
        (("--gin", "ablations/none.gin"), "there is no gin file 'ablations/none.gin'"),
        ((*study, "--set", "nothing.here=1"), "nothing"),
        ((*study, *TINY, "--set", "study.axes={'variant.encoder': ['lsmt']}"), "did you mean 'lstm'"),
        ((*study, *TINY, "--set", "run_trial.dataset='rings'"), "ring_transfer"),
    ):
        assert said in fails_with_a_sentence(run("-m", "gredkit.run", *arguments))
