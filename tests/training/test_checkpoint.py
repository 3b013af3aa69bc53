import logging
import os
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from helpers.commands import run
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from gredkit.system.writing import CannotWrite
from gredkit.training.checkpoint import Checkpoint, Progress, load, save

DTYPES = ["float64", "float32", "float16", "bfloat16", "int64", "int32", "int16", "int8", "uint8", "bool", "complex64"]
SHAPES = st.lists(st.integers(0, 3), max_size=3)


def tensor(dtype, shape, seed):
    generator = torch.Generator().manual_seed(seed)
    return (torch.randn(shape, generator=generator) * 100).to(getattr(torch, dtype))


TENSORS = st.builds(tensor, st.sampled_from(DTYPES), SHAPES, st.integers(0, 2**32))
NAMES = st.text(max_size=8)
WEIGHTS = st.dictionaries(NAMES, TENSORS, max_size=4)
FLOATS = st.floats()
PROGRESS = st.builds(
    Progress,
    run=st.dictionaries(NAMES, st.none() | FLOATS | NAMES | st.integers()),
    epoch=st.integers(-1),
    steps=st.integers(0),
    train_loss=FLOATS,
    validation=FLOATS,
    best_epoch=st.integers(-1),
    best_validation=FLOATS,
    last_improvement=st.integers(-1),
    seconds=FLOATS,
    scaler=st.dictionaries(NAMES, FLOATS),
)
OPTIMISER = st.dictionaries(
    NAMES, st.dictionaries(st.sampled_from(["step", "exp_avg", "exp_avg_sq"]), TENSORS, min_size=1)
)
CHECKPOINTS = st.builds(Checkpoint, model=WEIGHTS, best=WEIGHTS, optimiser=OPTIMISER, progress=PROGRESS)


def plain(checkpoint):
    """All that a checkpoint holds, as something that can be compared bit by bit."""

    def bits(tensors):
        return {
            name: (t.dtype, tuple(t.shape), t.flatten().view(torch.uint8).tolist())
            for name, t in sorted(tensors.items())
        }

    states = {name: bits(state) for name, state in sorted(checkpoint.optimiser.items())}
    return bits(checkpoint.model), bits(checkpoint.best), states, repr(checkpoint.progress)


def a_checkpoint(size=3, epoch=4):
    weights = {"a.weight": torch.randn(size, size), "a.bias": torch.randn(size)}
    optimiser = {name: {"step": torch.tensor(7.0), "exp_avg": w + 1} for name, w in weights.items()}
    return Checkpoint(weights, {n: w * 2 for n, w in weights.items()}, optimiser, Progress({"seed": 0}, epoch))


@given(checkpoint=CHECKPOINTS)
def test_what_is_written_is_read(tmp_path_factory, checkpoint):
    path = tmp_path_factory.mktemp("checkpoint") / "run.safetensors"
    save(path, checkpoint)
    assert plain(load(path)) == plain(checkpoint)
    assert os.listdir(path.parent) == [path.name]


def test_none_before_the_first(tmp_path, caplog):
    assert load(tmp_path / "run.safetensors") is None
    assert not caplog.records


def test_the_folder_is_made(tmp_path):
    save(tmp_path / "a" / "b" / "run.safetensors", a_checkpoint())
    assert load(tmp_path / "a" / "b" / "run.safetensors") is not None


def test_tied_transposed_and_repeated_tensors(tmp_path):
    model = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 3))
    model[1].weight = model[0].weight
    kept = {**model.state_dict(), "turned": model[0].weight.T, "repeated": torch.ones(1).expand(4)}
    save(tmp_path / "run", Checkpoint(kept, kept, {}, Progress({})))
    found = load(tmp_path / "run")
    assert all(torch.equal(found.model[name], tensor) for name, tensor in kept.items())
    assert found.model.keys() == found.best.keys() == kept.keys()


def test_what_was_read_is_no_view_of_the_file(tmp_path):
    """An optimiser goes on to change its state in place."""
    save(tmp_path / "run", a_checkpoint())
    before = (tmp_path / "run").read_bytes()
    for tensor in load(tmp_path / "run").model.values():
        tensor.zero_()
    assert (tmp_path / "run").read_bytes() == before


@settings(max_examples=300)
@given(data=st.data())
def test_a_changed_byte_is_noticed(tmp_path_factory, data):
    """What is still read is the same: a header may have other white space."""
    path = tmp_path_factory.mktemp("checkpoint") / "run"
    checkpoint = a_checkpoint()
    save(path, checkpoint)
    content = bytearray(path.read_bytes())
    place = data.draw(st.integers(0, len(content) - 1))
    content[place] ^= data.draw(st.integers(1, 255))
    path.write_bytes(content)
    found = load(path)
    assert found is None or plain(found) == plain(checkpoint)


def test_every_byte_of_the_numbers_counts(tmp_path, caplog):
    path = tmp_path / "run"
    save(path, a_checkpoint())
    content = path.read_bytes()
    header = 8 + int.from_bytes(content[:8], "little")
    for place in range(header, len(content)):
        path.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
        assert load(path) is None
    assert len(caplog.records) == len(content) - header


@pytest.mark.parametrize("share", [0, 0.01, 0.5, 0.99])
def test_a_truncated_file_is_none_with_a_warning(tmp_path, caplog, share):
    path = tmp_path / "run"
    save(path, a_checkpoint())
    content = path.read_bytes()
    path.write_bytes(content[: int(share * len(content))])
    assert load(path) is None
    (record,) = caplog.records
    assert record.levelno == logging.WARNING
    assert str(path) in record.getMessage()


@pytest.mark.parametrize("content", [b"", b"\x00" * 8, b"\xff" * 100, b"hello, I am no checkpoint at all"])
def test_another_kind_of_file_is_none(tmp_path, content):
    (tmp_path / "run").write_bytes(content)
    assert load(tmp_path / "run") is None


def test_a_folder_in_its_place(tmp_path, caplog):
    (tmp_path / "run").mkdir()
    assert load(tmp_path / "run") is None
    assert len(caplog.records) == 1
    with pytest.raises(CannotWrite, match="run the same command again"):
        save(tmp_path / "run", a_checkpoint())
    assert os.listdir(tmp_path) == ["run"]


LIMITED = """
import resource, sys
from pathlib import Path
import torch
from gredkit.errors import command
from gredkit.training.checkpoint import Checkpoint, Progress, save
path = Path(sys.argv[1])
save(path, Checkpoint({"w": torch.ones(3)}, {}, {}, Progress({}, epoch=1)))
limit = path.stat().st_size + 100
resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
command(lambda: save(path, Checkpoint({"w": torch.ones(3000)}, {}, {}, Progress({}, epoch=2))))
"""


def test_a_limit_of_the_system_leaves_the_one_before(tmp_path):
    path = tmp_path / "run"
    result = run("-c", LIMITED, str(path))
    assert result.returncode == 1, result.stderr
    assert result.stderr.startswith(f"error: nothing can be written to {tmp_path} (File too large): raise the limit")
    assert len(result.stderr.splitlines()) == 1
    assert os.listdir(tmp_path) == ["run"]
    assert load(path).progress.epoch == 1


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_full_disk_leaves_the_one_before(tmp_path):
    path = tmp_path / "run"
    save(path, first := a_checkpoint())
    (tmp_path / "run.unfinished").symlink_to("/dev/full")
    with pytest.raises(CannotWrite) as error:
        save(path, replace(first, progress=Progress({}, 5)))
    sentence = f"the disk of {tmp_path} is full: free some space, then run the same command again"
    assert str(error.value) == sentence
    assert os.listdir(tmp_path) == ["run"]
    assert plain(load(path)) == plain(first)
    save(path, replace(first, progress=Progress({}, 5)))  # now there is room
    assert load(path).progress.epoch == 5


@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() == 0, reason="nothing is forbidden to root")
def test_a_folder_that_may_not_be_written(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(CannotWrite, match="Permission denied"):
        save(tmp_path / "run", a_checkpoint())
    tmp_path.chmod(0o700)
