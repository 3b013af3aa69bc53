"""Every launcher trains the same trials to the same results, and stops when asked."""

import os
from collections import defaultdict

import psutil
import pytest
from helpers import ray
from helpers.once import assert_everything_once, trained
from helpers.slurm import Cluster
from helpers.studies import TinyStudy, assert_same_scores, interrupt

from gredkit.registry import LAUNCHERS

ON_THIS_MACHINE = "\nlaunchers.slurm.cpus = 1\nlaunchers.slurm.memory_gb = 1.0\n"
CLUSTERS = ("ray", "slurm")  # what `needs` calls them, too
LAUNCHED = [pytest.param(name, marks=pytest.mark.needs(name)) if name in CLUSTERS else name for name in LAUNCHERS]
AT: dict[str, tuple[str, ...]] = defaultdict(tuple, ray=("--address", "auto"))
SMALL = """
SEEDS = (0, 1)
EPOCHS = 3
LAYERS = 1
DIM = 8
DROPOUT = 0.1
datasets.ring_transfer.graphs = 40
fit.checkpoint_seconds = 0.0
"""
LONG = f"{SMALL}EPOCHS = 100\n"


@pytest.fixture(scope="module")
def wanted(tmp_path_factory):
    study = TinyStudy(tmp_path_factory.mktemp("wanted"), SMALL)
    assert study.run().returncode == 0
    return study.scores()


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """Longer ones, in which something may happen."""
    study = TinyStudy(tmp_path_factory.mktemp("undisturbed"), LONG)
    assert study.run().returncode == 0
    return study


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """A real SLURM, which all commands of this module find."""
    cluster = Cluster(tmp_path_factory.mktemp("slurm"))
    with pytest.MonkeyPatch.context() as patch:
        for name, value in cluster.environment.items():
            patch.setenv(name, value)
        yield cluster
    cluster.stop()


@pytest.fixture(scope="module")
def nodes():
    """A real Ray of two nodes, which all commands of this module find at the address `auto`."""
    nodes = ray.Cluster()
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {**nodes.environment, "RAY_ADDRESS": nodes.address}.items():
            patch.setenv(name, value)
        yield nodes
    nodes.stop()


@pytest.fixture(autouse=True)
def _clusters(request):
    for marker in request.node.iter_markers("needs"):
        request.getfixturevalue({"ray": "nodes", "slurm": "cluster"}[marker.args[0]])


@pytest.mark.parametrize("launcher", LAUNCHED)
def test_trials_are_trained(launcher, wanted, tmp_path):
    study = TinyStudy(tmp_path, SMALL + ON_THIS_MACHINE)
    process = study.start("--launcher", launcher, "--jobs", "2")
    out, err = process.communicate(timeout=300)
    assert (process.returncode, err) == (0, ""), out
    assert study.scores() == wanted
    # Nothing is left, such as the processes of a Ray of its own; a server of processes may need a moment to end.
    ray.wait_until(lambda: process.pid not in map(session_of, psutil.pids()), lambda: "a process was left")
    assert {known.tags["jobs"] for known in study.trials().values()} == {"2"}  # so a report compares no times
    assert all(0 <= known.metrics["cost/other_load"] <= 1 for known in study.trials().values())


def session_of(process: int) -> int | None:
    try:
        return os.getsid(process)
    except ProcessLookupError:
        return None


@pytest.mark.parametrize("launcher", LAUNCHED)
def test_trials_stop_when_asked(launcher, tmp_path):
    study = TinyStudy(tmp_path, f"{SMALL}{ON_THIS_MACHINE}EPOCHS = 3000\nSEEDS = (0,)")
    process = study.start("--launcher", launcher, *AT[launcher], "--jobs", "2")
    study.wait_for_epochs(process, 3)
    interrupt(process)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 130, err
    assert {known.state for known in study.trials().values()} == {"interrupted"}, out


@pytest.mark.needs("ray")
def test_a_lost_node_of_ray_loses_no_trial(nodes, undisturbed, tmp_path):
    study = TinyStudy(tmp_path, LONG)
    process = study.start("--launcher", "ray", "--address", nodes.address)
    study.wait_for(process, lambda: sum('"epoch": 3,' in line for line in study.events()) == 2)  # of both
    nodes.kill_node()
    out, err = process.communicate(timeout=120)
    nodes.start_node()
    assert (process.returncode, err) == (0, ""), out
    assert "2 trials side by side, as many as Ray has room for" in out
    assert "raylet" not in out
    assert_same_scores(study, undisturbed, 2)
    assert_everything_once(study, 100, 2)
    assert set(trained(study).values()) == {1}


@pytest.mark.needs("ray")
def test_a_task_of_ray_ends_with_its_command_and_the_next_one_goes_on(nodes, undisturbed, tmp_path):
    study = TinyStudy(tmp_path, f"{LONG}SEEDS = (0,)")
    first = study.start("--launcher", "ray", "--address", nodes.address)
    study.wait_for_epochs(first, 5)
    first.kill()
    second = study.run("--launcher", "ray", "--address", nodes.client_address)
    assert (second.returncode, second.stderr) == (0, ""), second.stdout
    assert ": running, continues from epoch" in second.stdout
    assert_same_scores(study, undisturbed, 1)
    assert_everything_once(study, 100, 1)


SLOW = """
import time
from gredkit.trials.folder import TrialFolder

append = TrialFolder.append


def slow_append(self, event, **values):
    append(self, event, **values)
    if event == "epoch" and values["epoch"] == 2:
        time.sleep(600)


TrialFolder.append = slow_append
"""


@pytest.mark.needs("ray")
def test_a_second_ctrl_c_ends_a_task_of_ray_at_once(nodes, tmp_path):
    study = TinyStudy(tmp_path, f"{SMALL}EPOCHS = 3000\nSEEDS = (0,)")
    (tmp_path / "slow.py").write_text(SLOW)
    process = study.start("--launcher", "ray", "--address", nodes.address, "--import", "slow")
    study.wait_for_epochs(process, 3)
    interrupt(process)
    process.wait_for("press Ctrl-C again to stop immediately")
    interrupt(process)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 130, out + err
    assert ": interrupted: it was stopped at once, as asked\n" in out


@pytest.mark.needs("ray")
def test_what_no_node_of_ray_has_is_said_at_once(nodes, tmp_path):
    study = TinyStudy(tmp_path, f"{SMALL}launchers.ray.cpus = 2\nlaunchers.ray.gpus = 0.5\n")
    result = study.run("--launcher", "ray", "--address", nodes.address)
    assert result.returncode == 1
    assert result.stderr == "error: no node of Ray has 2 CPUs and 0.5 GPU for a trial: correct launchers.ray.…\n"
    assert not study.scores()


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
