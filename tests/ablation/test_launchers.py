"""Every launcher trains the same trials to the same results, and stops when asked."""

import pytest
from helpers.slurm import Cluster
from helpers.studies import TinyStudy, interrupt

from gredkit.registry import LAUNCHERS

ON_THIS_MACHINE = "\nlaunchers.slurm.cpus = 1\nlaunchers.slurm.memory_gb = 1.0\n"
LAUNCHED = [pytest.param(name, marks=pytest.mark.needs("slurm")) if name == "slurm" else name for name in LAUNCHERS]
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


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """A real SLURM, which all commands of this module find."""
    cluster = Cluster(tmp_path_factory.mktemp("slurm"))
    with pytest.MonkeyPatch.context() as patch:
        for name, value in cluster.environment.items():
            patch.setenv(name, value)
        yield cluster
    cluster.stop()


@pytest.fixture(autouse=True)
def _cluster_of_slurm(request):
    if request.node.get_closest_marker("needs"):
        request.getfixturevalue("cluster")


@pytest.mark.parametrize("launcher", LAUNCHED)
def test_trials_are_trained(launcher, wanted, tmp_path):
    study = TinyStudy(tmp_path, SMALL + ON_THIS_MACHINE)
    result = study.run("--launcher", launcher, "--jobs", "2")
    assert result.returncode == 0, result.stderr
    assert study.scores() == wanted
    assert {known.tags["jobs"] for known in study.trials().values()} == {"2"}  # so a report compares no times
    assert all(0 <= known.metrics["cost/other_load"] <= 1 for known in study.trials().values())


@pytest.mark.parametrize("launcher", LAUNCHED)
def test_trials_stop_when_asked(launcher, tmp_path):
    study = TinyStudy(tmp_path, f"{SMALL}{ON_THIS_MACHINE}EPOCHS = 3000\nSEEDS = (0,)")
    process = study.start("--launcher", launcher, "--jobs", "2")
    study.wait_for_epochs(process, 3)
    interrupt(process)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 130, err
    assert {known.state for known in study.trials().values()} == {"interrupted"}, out


def lines_of(cluster: Cluster) -> list[str]:
    return cluster.run("squeue", "--me", "--noheader", "--array", "--format=%i %T %r").splitlines()


@pytest.mark.needs("slurm")
def test_a_time_limit_loses_nothing(cluster, tmp_path):
    study = TinyStudy(tmp_path, f"{SMALL}{ON_THIS_MACHINE}EPOCHS = 100\nSEEDS = (0,)")
    alone = TinyStudy(tmp_path / "alone", f"{SMALL}EPOCHS = 100\nSEEDS = (0,)")
    assert alone.run().returncode == 0
    process = study.start("--launcher", "slurm")
    study.wait_for_epochs(process, 2)
    (job,) = [line.split()[0] for line in lines_of(cluster)]
    cluster.run("scancel", "--signal=USR2", job)  # as SLURM does before the limit
    study.wait_for(process, lambda: f"{job} PENDING BeginTime" in lines_of(cluster))
    # SLURM would wait for two minutes. A few seconds are needed: a node refuses a job that it ended in the same second.
    cluster.run("scontrol", "update", f"JobId={job}", "StartTime=now+4")
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err + out
    assert study.scores() == alone.scores()
    told = cluster.run("scontrol", "show", "job", job)
    assert "Restarts=1" in told  # it went back into the queue and continued


@pytest.mark.needs("slurm")
def test_a_time_limit_loses_nothing_where_jobs_must_not_start_again(cluster, tmp_path):
    never = "launchers.slurm.more = {'no-requeue': True}"
    study = TinyStudy(tmp_path, f"{SMALL}{ON_THIS_MACHINE}EPOCHS = 60\nSEEDS = (0,)\n{never}")
    process = study.start("--launcher", "slurm")
    study.wait_for_epochs(process, 2)
    (job,) = [line.split()[0] for line in lines_of(cluster)]
    cluster.run("scancel", "--signal=USR2", job)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err + out
    assert {known.state for known in study.trials().values()} == {"finished"}
    assert "JobState=COMPLETED" in cluster.run("scontrol", "show", "job", job)  # a second job did the rest


@pytest.mark.needs("slurm")
def test_a_job_outlives_its_invocation_and_is_followed_by_the_next(cluster, tmp_path):
    study = TinyStudy(tmp_path, f"{SMALL}{ON_THIS_MACHINE}EPOCHS = 60\nSEEDS = (0,)")
    first = study.start("--launcher", "slurm")
    study.wait_for_epochs(first, 2)
    first.kill()
    second = study.run("--launcher", "slurm")
    assert second.returncode == 0, second.stderr
    assert len(list((tmp_path / ".gredkit" / "jobs").iterdir())) == 1, "the second invocation submitted another job"
    assert {known.state for known in study.trials().values()} == {"finished"}


@pytest.mark.needs("slurm")
def test_a_cancelled_job_is_noticed_without_slurmdbd(cluster, tmp_path):
    study = TinyStudy(tmp_path, f"{SMALL}{ON_THIS_MACHINE}EPOCHS = 3000\nSEEDS = (0,)")
    process = study.start("--launcher", "slurm")
    study.wait_for_epochs(process, 2)
    cluster.run("scancel", "--me")
    out, err = process.communicate(timeout=120)
    assert process.returncode == 1, err
    (known,) = study.trials().values()
    assert known.state == "interrupted"
    assert "ended as CANCELLED" in known.message or "stopped after epoch" in known.message, known.message
    assert "sacct" not in out + err
