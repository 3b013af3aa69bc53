"""What a trial asks of Ray, what its task does, and when a trial is given up whose tasks are lost."""

import os
import sys
from types import SimpleNamespace

import pytest

from gredkit.ablation.launchers.cluster.nodes import Nodes
from gredkit.ablation.launchers.cluster.shared import STOP
from gredkit.ablation.launchers.cluster.task import train
from gredkit.ablation.launchers.ray import IN_VAIN, Ray, RayJob
from gredkit.ablation.plan import make_plan
from gredkit.config.source import Source
from gredkit.errors import UserError
from gredkit.trials.folder import TrialFolder
from gredkit.trials.state import TrialState

TINY = "SEEDS = (0,)\nEPOCHS = 2\nLAYERS = 1\nDIM = 8\ndatasets.ring_transfer.graphs = 20\n"
SEEN = """
import os

with open("seen", "a") as file:
    file.write(f"{os.getpid()} {os.environ.get('CUDA_VISIBLE_DEVICES')}\\n")
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tiny.gin").write_text(TINY)
    (tmp_path / "seen.py").write_text(SEEN)
    (trial,) = make_plan(Source(("tiny.gin",), modules=("seen",))).trials
    folder = TrialFolder(tmp_path / trial.id)
    folder.create(trial)
    yield folder
    del sys.modules["seen"]


@pytest.mark.parametrize(("has_gpu", "visible"), [(True, "3"), (False, "")])
def test_the_process_of_a_trial_sees_the_gpus_of_its_task_and_no_others(has_gpu, visible, folder, monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3")
    monkeypatch.setattr(sys.modules["__main__"], "__file__", "ray/default_worker.py", raising=False)
    assert train(str(folder.path), 1, 1, has_gpu) == (TrialState.FINISHED, "")
    process, _, seen = folder.path.with_name("seen").read_text().splitlines()[-1].partition(" ")
    assert (process != str(os.getpid()), seen) == (True, visible)
    assert len(folder.epochs()) == 2


def test_a_task_that_finds_the_stop_file_stops_after_an_epoch(folder, monkeypatch):
    monkeypatch.setattr(sys.modules["__main__"], "__file__", "ray/default_worker.py", raising=False)
    (folder.path / STOP).touch()
    state, _ = train(str(folder.path), 1, 1, False)
    assert state == TrialState.INTERRUPTED
    assert len(folder.epochs()) == 1


def test_a_trial_is_given_up_when_its_tasks_are_lost_one_after_another_without_an_epoch(folder):
    submitted = []
    launcher = SimpleNamespace(nodes=SimpleNamespace(ray=None), submit=lambda *_: submitted.append(1))
    job = RayJob(launcher, folder.path, {"CPU": 1, "GPU": 0, "memory": 0})
    assert [job._submitted_again() for _ in range(IN_VAIN - 1)] == [True] * (IN_VAIN - 1)
    folder.append("epoch", epoch=0, train_loss=1.0, validation=0.5)
    assert [job._submitted_again() for _ in range(IN_VAIN + 1)] == [True] * IN_VAIN + [False]
    assert len(submitted) == 2 * IN_VAIN


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"cpus": 0}, "cpus is a whole number from 1"),
        ({"gpus": 1.5}, "gpus is a whole number, or a part of 1, not 1.5"),
        ({"memory_gb": 0}, "memory_gb is a number above 0"),
    ],
)
def test_what_ray_could_not_give_is_refused(settings, said):
    with pytest.raises(UserError, match=said):
        Ray(1, **settings)


NODES = [
    {"NodeID": "a", "Alive": True, "Resources": {"CPU": 4.0, "GPU": 1.0, "memory": 8.0 * 2**30}},
    {"NodeID": "b", "Alive": True, "Resources": {"CPU": 3.0}},
    {"NodeID": "c", "Alive": False, "Resources": {}},
]


@pytest.fixture
def nodes_with():
    """What is known if Ray says so about its nodes; this process belongs to the node `a`."""

    def make(said):
        nodes = Nodes()
        context = SimpleNamespace(get_node_id=lambda: "a")
        nodes.ray = SimpleNamespace(
            nodes=lambda: said, get_runtime_context=lambda: context, exceptions=nodes.ray.exceptions
        )
        return nodes

    return make


@pytest.mark.needs("ray")
@pytest.mark.parametrize(
    ("wanted", "room", "said"),
    [
        ((1, 0, 0), 7, ""),
        ((2, 0, 0), 3, ""),
        ((1, 0.5, 0), 2, ""),
        ((1, 0, 3 * 2**30), 2, ""),
        ((5, 0, 0), 0, "no node of Ray has 5 CPUs for a trial: correct launchers.ray.…"),
        (
            (1, 2, 3 * 2**29),
            0,
            "no node of Ray has 1 CPU and 2 GPUs and 1.5 GB of memory for a trial: correct launchers.ray.…",
        ),
    ],
)
def test_how_many_trials_the_nodes_have_room_for(wanted, room, said, nodes_with):
    nodes, wanted = nodes_with(NODES), dict(zip(("CPU", "GPU", "memory"), wanted, strict=True))
    assert nodes.room(wanted) == room
    assert nodes.lack(wanted) == said


@pytest.mark.needs("ray")
def test_without_the_node_that_the_command_belongs_to_no_trial_can_be_trained(nodes_with):
    nodes = nodes_with([{**NODES[0], "Alive": False}, NODES[1]])
    assert nodes.lack({"CPU": 1, "GPU": 0, "memory": 0}) == "the Ray that this command was connected to has ended"
