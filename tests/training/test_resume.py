"""An interrupted training ends as one that was not, bit for bit."""

import os
import signal
from functools import cache, partial
from pathlib import Path

import pytest
import torch
from helpers.commands import server
from training.killed import train_until_killed
from training.resumed import EPOCHS, KINDS, epochs_of, run_of
from training.small import but_seconds, same_bits, small_model, small_task, train, weights

from gredkit import GRED
from gredkit.nn.encoders.lru import LRU
from gredkit.system.writing import CannotWrite
from gredkit.training.checkpoint import load
from gredkit.training.fit import Interrupted


@cache
def undisturbed(kind):
    return run_of(kind)


def stop_after(epochs):
    """A `should_stop` that says so once that many epochs are done."""
    answers = iter([False] * (epochs - 1))
    return lambda: next(answers, True)


@pytest.mark.parametrize(("kind", "done"), [(kind, n) for kind in KINDS for n in range(1, epochs_of(kind) + 1)])
def test_stopped_after_any_epoch(tmp_path, kind, done):
    expected, path, epochs = undisturbed(kind), tmp_path / "run", []
    with pytest.raises(Interrupted) as stopped:
        run_of(kind, checkpoint=path, should_stop=stop_after(done), checkpoint_seconds=1e6)
    assert stopped.value.epoch == done - 1
    assert load(path).progress.scaler.get("scale", 0) < 65536  # steps that overflowed made it smaller
    torch.manual_seed(99)
    resumed = run_of(kind, done, checkpoint=path, on_epoch=lambda report: epochs.append(report.epoch))
    assert epochs == list(range(done, epochs_of(kind)))
    assert resumed[0] == expected[0]
    assert same_bits(resumed[1], expected[1])


def test_stopped_after_every_epoch(tmp_path):
    kind = "random signs and dropout"
    expected, path = undisturbed(kind), tmp_path / "run"
    for epoch in range(EPOCHS):
        with pytest.raises(Interrupted, match=f"stopped after epoch {epoch}: run the same command again to continue"):
            run_of(kind, checkpoint=path, should_stop=lambda: True)
    found = run_of(kind, checkpoint=path)
    assert found[0] == expected[0]
    assert same_bits(found[1], expected[1])


def test_the_schedule_of_an_interrupted_training_has_something_to_remember(tmp_path):
    with pytest.raises(Interrupted):
        run_of("plateau", checkpoint=tmp_path / "run", should_stop=stop_after(4))
    assert load(tmp_path / "run").progress.plateau.reductions > 0


def test_a_complete_training_is_only_tested(tmp_path):
    expected = run_of("plain", checkpoint=tmp_path / "run")
    before = (tmp_path / "run").read_bytes()
    task = small_task()
    torch.manual_seed(5)
    model, modes = GRED(task.spec, dim=16, layers=1), []  # other weights than those that were trained
    model.register_forward_pre_hook(lambda m, inputs: modes.append(m.training))
    found = run_of("plain", model=model, checkpoint=tmp_path / "run", on_epoch=lambda report: pytest.fail("trained"))
    assert modes == [False] * 2  # twelve graphs, eight a batch
    assert found[0] == expected[0]
    assert same_bits(found[1], expected[1])
    assert (tmp_path / "run").read_bytes() == before


def test_the_seconds_before_count(tmp_path):
    task, seconds = small_task(), []
    for _ in range(2):
        with pytest.raises(Interrupted):
            train(
                small_model(task),
                task,
                checkpoint=tmp_path / "run",
                should_stop=lambda: True,
                on_epoch=lambda report: seconds.append(report.seconds),
            )
    last = train(
        small_model(task), task, checkpoint=tmp_path / "run", on_epoch=lambda report: seconds.append(report.seconds)
    )
    assert len(seconds) == 4
    assert last.seconds == pytest.approx(sum(seconds))


@pytest.mark.parametrize(("pause", "written"), [(0, [None, 0, 1, 2]), (1e6, [None] * 4)])
def test_when_a_checkpoint_is_written(tmp_path, pause, written):
    """After the report of its epoch; at the end in any case."""
    path, found = tmp_path / "run", []

    def on_epoch(report):
        checkpoint = load(path)
        found.append(checkpoint and checkpoint.progress.epoch)

    train(small_model(task := small_task()), task, checkpoint=path, checkpoint_seconds=pause, on_epoch=on_epoch)
    assert found == written
    assert load(path).progress.epoch == 3
    assert load(path).progress.steps == 4 * 4


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"seed": 1}, "setting 'seed' was 0 and is now 1"),
        ({"epochs": 6}, "setting 'epochs' was 4 and is now 6"),
        ({"learning_rate": 0.1}, "setting 'learning_rate' was 0.001 and is now 0.1"),
        ({"graphs": 80}, "setting 'train graphs' was 36 and is now 48"),
        ({"encoder": "gru"}, "weight 'layers.0.encoder.rnn.weight_ih_l0' was None and is now torch.float32 (48, 16)"),
    ],
)
def test_a_checkpoint_of_another_training_is_left_alone(tmp_path, caplog, change, why):
    def attempt(seed=0, encoder="lru", graphs=60, **recipe):
        task = small_task(graphs)
        model = small_model(task, encoder=encoder)
        return but_seconds(train(model, task, seed, **recipe)), weights(model)

    attempt(checkpoint=tmp_path / "run")
    expected, found = attempt(**change), attempt(**change, checkpoint=tmp_path / "run")
    assert why in caplog.text
    assert found[0] == expected[0]
    assert same_bits(found[1], expected[1])


def test_what_does_not_change_the_result_may_change(tmp_path, caplog):
    expected = undisturbed("plain")
    with pytest.raises(Interrupted):
        run_of("plain", checkpoint=tmp_path / "run", should_stop=stop_after(2), checkpoint_seconds=3, device="auto")
    epochs: list[int] = []
    found = run_of(
        "plain",
        checkpoint=tmp_path / "run",
        on_epoch=lambda report: epochs.append(report.epoch),
        device="cpu",
        checkpoint_seconds=0,
    )
    assert epochs == [2, 3, 4]
    assert found[0] == expected[0]
    assert not caplog.records


def test_a_damaged_checkpoint_begins_again(tmp_path, caplog):
    expected, path = undisturbed("plain"), tmp_path / "run"
    with pytest.raises(Interrupted):
        run_of("plain", checkpoint=path, should_stop=stop_after(2))
    path.write_bytes(path.read_bytes()[:-1])
    found = run_of("plain", checkpoint=path)
    assert "training starts from the beginning" in caplog.text
    assert found[0] == expected[0]
    assert same_bits(found[1], expected[1])


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_the_disk_is_full_in_the_middle(tmp_path):
    expected, path = undisturbed("plain"), tmp_path / "run"

    def fill(report):
        if report.epoch == 3:
            (tmp_path / "run.unfinished").symlink_to("/dev/full")

    with pytest.raises(CannotWrite, match=f"the disk of {tmp_path} is full"):
        run_of("plain", checkpoint=path, on_epoch=fill)
    assert load(path).progress.epoch == 2
    found = run_of("plain", checkpoint=path)
    assert found[0] == expected[0]
    assert same_bits(found[1], expected[1])


def test_tied_weights_stay_tied(tmp_path):
    def attempt(**how):
        task = small_task()
        model = small_model(task)
        model.layers[0].glu.gate.weight = model.layers[0].glu.value.weight
        return but_seconds(train(model, task, **how)), weights(model), model.layers[0].glu

    expected = attempt()
    with pytest.raises(Interrupted):
        attempt(checkpoint=tmp_path / "run", should_stop=stop_after(2))
    found = attempt(checkpoint=tmp_path / "run")
    assert found[0] == expected[0]
    assert same_bits(found[1], expected[1])
    assert found[2].gate.weight is found[2].value.weight


def test_shared_layers_and_fixed_eigenvalues_stay_so(tmp_path):
    def attempt(**how):
        task = small_task()
        torch.manual_seed(0)
        lru = partial(LRU, learned=False, gamma=False)
        model = GRED(task.spec, dim=16, layers=2, encoder=lru, share_layers=True)
        return but_seconds(train(model, task, **how)), weights(model), model.layers

    expected = attempt()
    with pytest.raises(Interrupted):
        attempt(checkpoint=tmp_path / "run", should_stop=stop_after(2))
    found = attempt(checkpoint=tmp_path / "run")
    assert found[0] == expected[0]
    assert same_bits(found[1], expected[1])
    assert found[2][0] is found[2][1]
    assert not found[2][0].encoder.nu_log.requires_grad


@pytest.mark.parametrize("when", ["in a step", "while writing"])
def test_killed(tmp_path, when):
    """In the third step of epoch 3, or with its checkpoint written but not yet in place."""
    path, kind, epochs = tmp_path / "run", "random signs and dropout", []
    process = server().Process(target=train_until_killed, args=(path, when))
    process.start()
    process.join()
    assert process.exitcode == -signal.SIGKILL
    assert load(path).progress.epoch == 2
    assert ("run.unfinished" in os.listdir(tmp_path)) == (when == "while writing")
    found = run_of(kind, checkpoint=path, on_epoch=lambda report: epochs.append(report.epoch))
    expected = undisturbed(kind)
    assert epochs == [3, 4]
    assert found[0] == expected[0]
    assert same_bits(found[1], expected[1])
    assert os.listdir(tmp_path) == ["run"]
