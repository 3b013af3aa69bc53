"""What is damaged on disk is set aside, and what is not damaged is used as it was written."""

import json
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gredkit.config.source import Source
from gredkit.system import sealed
from gredkit.system.sealed import Damaged, seal, unseal
from gredkit.trials.folder import TrialFolder, trial_folders
from gredkit.trials.trial import Trial

TRIAL = Trial("tiny", "base", "ring_transfer", 3, Source(("tiny.gin",)), settings={"fit.epochs": 3, "K": None}, id="ab")
WRONG = ("null", "[]", "7", '"text"', "{}", '{"event": "epoch"}', '{"event": [1], "time": "x"}', "[" * 5000,
         seal({"event": "epoch", "time": 1}), seal({"event": ["epoch"], "time": 1}), seal({}))  # fmt: skip
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)


@st.composite
def damages(draw):
    """A function from the bytes of a file to those that a bad disk, a crash or an editor leaves of it."""
    kind = draw(st.sampled_from(["cut", "flip", "insert", "line", "empty", "zeros"]))
    share, byte = draw(st.floats(0, 1)), draw(st.integers(1, 255))
    garbage = draw(st.binary(min_size=1, max_size=40))
    wrong = draw(st.sampled_from(WRONG)).encode() + b"\n"

    def damage(content: bytes) -> bytes:
        at = min(int(share * len(content)), len(content) - 1)
        line = content.rfind(b"\n", 0, at) + 1
        return {
            "cut": content[:at],
            "flip": content[:at] + bytes([content[at] ^ byte]) + content[at + 1 :],
            "insert": content[:at] + garbage + content[at:],
            "line": content[:line] + wrong + content[line:],
            "empty": b"",
            "zeros": content[:at] + bytes(len(content) - at),
        }[kind]

    return damage


def written(path: Path) -> TrialFolder:
    """The folder of a trial with some epochs and its result, all of which MLflow has."""
    folder = TrialFolder(path / "tiny" / "ab")
    folder.create(TRIAL)
    folder.append("started", pid=1, device="cpu", described={"parameters": "7", "notes.made": "„up“"})
    costs = {"seconds": 0.5, "samples_per_second": 100.0, "peak_mb": 300.0}
    for epoch in range(3):
        losses = {"train_loss": 1 / (1 + epoch), "validation_loss": float("nan"), "learning_rate": 0.001}
        folder.append("epoch", epoch=epoch, validation=0.5, **losses, **costs)
    final = {"final_epoch": 2, "final_validation": 0.5, "final_train_loss": 0.1, "seconds": 1.5}
    folder.append("result", epoch=2, validation=0.5, test=0.4, test_loss=0.5, **final)
    folder.append("ended", state="finished", message="")
    folder.mark_sent(run="some", store="there", place=folder.events()[1])
    return folder


def as_text(events: list[dict]) -> list[str]:
    return [json.dumps(event) for event in events]  # NaN is not equal to itself


@given(st.dictionaries(st.text(), VALUES))
def test_what_is_sealed_comes_back_and_anything_else_is_damaged(values):
    values.pop(sealed.SEAL, None)
    line = seal(values).encode()
    assert json.dumps(unseal(line)) == json.dumps(values)
    with pytest.raises(Damaged):
        unseal(line[:-1])


@given(st.lists(damages(), min_size=1, max_size=3))
def test_damaged_events_are_set_aside_and_the_others_are_as_they_were(several):
    with TemporaryDirectory() as path:
        folder = written(Path(path))
        before, file = as_text(folder.events()[0]), folder.path / "events.jsonl"
        content = file.read_bytes()
        for damage in several:
            if content:
                content = damage(content)
        file.write_bytes(content)
        read = as_text(folder.events()[0])
        mended = folder.mend()
        after = as_text(folder.events()[0])
        assert after == read
        assert set(after) <= set(before)  # nothing that was not written, no number that changed
        assert (mended == ["events.jsonl"]) == (folder.path / "events.jsonl.damaged").exists()
        assert folder.mend() == []
        folder.append("ended", state="interrupted", message="")  # and it goes on
        assert as_text(folder.events()[0])[:-1] == after
        place = folder.sent()["place"]
        assert place == 0 or content[:place].endswith(b"\n")
        if mended:
            assert place == 0  # all is compared with what MLflow has


@given(st.sampled_from(["trial.json", "sent.json"]), damages())
def test_a_damaged_file_is_set_aside_whole(name, damage):
    with TemporaryDirectory() as path:
        folder = written(Path(path))
        sent, file = folder.sent(), folder.path / name
        before = file.read_bytes()
        file.write_bytes(damage(before))
        mended = folder.mend()
        assert mended in ([], [name])
        if mended:
            assert (folder.path / f"{name}.damaged").exists()
            assert folder.sent() == ({} if name == "sent.json" else sent)
            assert folder.has_trial == (name != "trial.json")
        else:  # it says what it said
            assert folder.sent() == sent
            assert folder.trial() == TRIAL
        folder.create(TRIAL)
        assert folder.trial() == TRIAL
        folder.mark_sent(run="another")
        assert folder.sent()["run"] == "another"


def test_half_a_removed_folder_is_no_trial(tmp_path):
    folder = written(tmp_path)
    folder.path.rename(folder.path.with_name("ab.removed"))  # a crash came before the files went
    assert trial_folders(tmp_path, "tiny") == []
    assert list((tmp_path / "tiny").iterdir()) == []
