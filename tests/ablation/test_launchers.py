"""Every launcher trains the same trials to the same results, and stops when asked."""

import pytest
from helpers.studies import TinyStudy, interrupt

from gredkit.registry import LAUNCHERS

ON_THIS_MACHINE = "\nlaunchers.slurm.cluster = 'local'\nlaunchers.slurm.gpus = 0\nlaunchers.slurm.cpus = 1\n"
SMALL = """
SEEDS = (0, 1)
EPOCHS = 3
LAYERS = 1
DIM = 8
DROPOUT = 0.1
datasets.ring_transfer.graphs = 40
fit.checkpoint_seconds = 0.0
"""


@pytest.fixture(scope="module")
def wanted(tmp_path_factory):
    study = TinyStudy(tmp_path_factory.mktemp("wanted"), SMALL)
    assert study.run().returncode == 0
    return study.scores()


@pytest.mark.parametrize("launcher", LAUNCHERS)
def test_trials_are_trained(launcher, wanted, tmp_path):
    study = TinyStudy(tmp_path, SMALL + ON_THIS_MACHINE)
    result = study.run("--launcher", launcher, "--jobs", "2")
    assert result.returncode == 0, result.stderr
    assert study.scores() == wanted
    assert {known.tags["jobs"] for known in study.trials().values()} == {"2"}  # so a report compares no times
    assert all(0 <= known.metrics["cost/other_load"] <= 1 for known in study.trials().values())


@pytest.mark.parametrize("launcher", LAUNCHERS)
def test_trials_stop_when_asked(launcher, tmp_path):
    study = TinyStudy(tmp_path, f"{SMALL}{ON_THIS_MACHINE}EPOCHS = 3000\nSEEDS = (0,)")
    process = study.start("--launcher", launcher, "--jobs", "2")
    study.wait_for_epochs(process, 3)
    interrupt(process)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 130, err
    assert {known.state for known in study.trials().values()} == {"interrupted"}, out
