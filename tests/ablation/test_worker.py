"""One trial in this process: how it ends, and what it writes."""

import json

import pytest
from filelock import FileLock

from gredkit.ablation import worker
from gredkit.ablation.plan import make_plan
from gredkit.ablation.worker import attempt
from gredkit.config.source import Source
from gredkit.inference.saved import load_folder
from gredkit.nn.parameters import count_parameters
from gredkit.trials.folder import TrialFolder
from gredkit.trials.state import TrialState

TINY = """
SEEDS = (0,)
EPOCHS = 3
LAYERS = 1
DIM = 8
fit.checkpoint_seconds = 0.0
datasets.ring_transfer.distance = 2
datasets.ring_transfer.graphs = 40
"""
BROKEN = """
from gredkit.nn.encoders.mean import Mean
from gredkit.registry import ENCODERS

@ENCODERS.register("breaks_in_training")
class Broken(Mean):
    '''Raises when it is trained.'''
    def forward(self, z, hops):
        raise LookupError("a surprise\\nin two lines")
"""


@pytest.fixture
def folder_with(tmp_path, monkeypatch):
    """The folder of the only trial of a tiny study with some bindings."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "tiny.gin").write_text(TINY)

    def make(*bindings, modules=()):
        (trial,) = make_plan(Source(("tiny.gin",), bindings, modules)).trials
        folder = TrialFolder(tmp_path / trial.id)
        folder.create(trial)
        return folder

    return make


def events(folder, kind):
    return [event for event in folder.events()[0] if event["event"] == kind]


def never():
    return False


def test_a_trial_writes_what_is_tracked(folder_with):
    folder = folder_with()
    assert attempt(folder, never, jobs=2) == (TrialState.FINISHED, "")
    kinds = [event["event"] for event in folder.events()[0]]
    assert kinds == ["started", "kernels", "epoch", "epoch", "epoch", "result", "ended"]
    (started,), (result,), (ended,) = (events(folder, kind) for kind in ("started", "result", "ended"))
    model = load_folder(folder.artifacts / "model").model
    assert started["jobs"] == 2
    assert int(started["described"]["parameters"]) == count_parameters(model) == folder.trial().parameters
    assert started["described"]["last_hop"] == "diameter"
    assert result["validation"] == max(event["validation"] for event in events(folder, "epoch"))
    assert (ended["state"], ended["message"]) == ("finished", "")
    moments = json.loads((folder.artifacts / "eigenvalues.json").read_text())
    assert moments["start"] != moments["end"]
    assert folder.trial().id in (folder.artifacts / "config.gin").read_text()


def test_a_trial_that_has_its_result_is_not_trained_again(folder_with):
    folder = folder_with()
    folder.append("started", device="cpu", described={})
    folder.append("result", validation=0.5, test=0.25)
    assert attempt(folder, never) == (TrialState.FINISHED, "")
    assert not events(folder, "epoch")
    assert len(events(folder, "ended")) == 1


def test_a_trial_that_is_stopped_continues_and_records_every_epoch_once(folder_with, tmp_path):
    folder = folder_with()
    state, message = attempt(folder, lambda: len(events(folder, "epoch")) == 2)
    assert (state, [event["epoch"] for event in events(folder, "epoch")]) == (TrialState.INTERRUPTED, [0, 1])
    assert folder.checkpoint.exists()
    assert message
    assert attempt(folder, never)[0] == TrialState.FINISHED
    assert [event["epoch"] for event in events(folder, "epoch")] == [0, 1, 2]
    undisturbed = TrialFolder(tmp_path / "undisturbed")
    undisturbed.create(folder.trial())
    attempt(undisturbed, never)
    scores = [[event[key] for key in ("validation", "test", "test_loss")]
              for one in (folder, undisturbed) for event in events(one, "result")]  # fmt: skip
    assert scores[0] == scores[1]


def test_what_is_not_finite_diverges(folder_with):
    folder = folder_with("LEARNING_RATE=1e30")
    state, message = attempt(folder, never)
    assert state == TrialState.DIVERGED
    assert "epoch" in message
    assert not folder.has_result()
    assert events(folder, "ended")[0]["state"] == "diverged"


def test_an_error_of_ones_own_code_fails_in_one_line_with_the_traceback_in_a_file(folder_with, tmp_path):
    (tmp_path / "breaks_in_training.py").write_text(BROKEN)
    folder = folder_with("variant.encoder='breaks_in_training'", modules=("breaks_in_training",))
    assert attempt(folder, never) == (TrialState.FAILED, "LookupError: a surprise")
    kept = (folder.artifacts / "error.txt").read_text()
    assert kept.startswith("Traceback (most recent call last)")
    assert "in two lines" in kept


def test_a_trial_that_another_process_trains_is_left_to_it(folder_with, monkeypatch):
    monkeypatch.setattr(worker, "WAIT", 0.01)
    folder = folder_with()
    with FileLock(folder.lock, is_singleton=False):
        assert attempt(folder, never) == (TrialState.ELSEWHERE, "another process trains it")
    assert folder.events()[0] == []


def test_a_damaged_trial_waits_for_the_command_that_writes_it_anew(folder_with):
    folder = folder_with()
    (folder.path / "trial.json").write_text("[1, 2]")
    state, message = attempt(folder, never)
    assert state == TrialState.INTERRUPTED
    assert "trial.json is damaged: run the same command again" in message
