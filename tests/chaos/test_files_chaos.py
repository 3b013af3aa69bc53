"""Damaged and hostile files: a sentence each, nothing run, nothing waited for, and no other answer than before."""

import copy
import json
import os
import random
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from helpers.own_files import ten_paths
from helpers.stored import edited, store
from safetensors.torch import load as read_weights
from safetensors.torch import save as weights_as_bytes

from gredkit.data.datasets.graph_folder import graph_folder
from gredkit.data.hops.cache import prepare
from gredkit.data.hops.stored_arrays import META
from gredkit.data.hops.structure import Hops
from gredkit.errors import command
from gredkit.inference.about import CHECKSUM
from gredkit.inference.saved import ABOUT, WEIGHTS
from gredkit.predict import main
from gredkit.training import checkpoint

CANARY = "canary"  # the file that hostile input tries to make
EVIL = f"open({CANARY!r}, 'w')"


class Model:
    """A stored model in a folder, graphs for it, and what it says of them."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
        self.graphs, self.folder = ten_paths(folder / "own"), folder / "model"
        settings = {"path": str(self.graphs)}
        store(self.folder, graph_folder(self.graphs), "graph_folder", dataset_settings=settings)
        self.files = {name: (self.folder / name).read_bytes() for name in (ABOUT, WEIGHTS)}
        self._patch, self._capsys = monkeypatch, capsys
        monkeypatch.chdir(self.folder)
        Path("evil.py").write_text(f"{EVIL}\n")
        part: dict[str, Any] = {key: [] for key in ("rule", "of", "train", "validation", "test")}
        Path("part.json").write_text(json.dumps({**part, "dataset": "python_dataset"}))
        self.answer = self.predict()
        assert self.answer[0] == 0, self.answer

    def restore(self) -> None:
        for name, content in self.files.items():
            if Path(name).is_dir():
                os.rmdir(name)
            Path(name).unlink(missing_ok=True)
            Path(name).write_bytes(content)

    def predict(self, data: str = "") -> tuple[int, str, str]:
        self._patch.setattr(sys, "argv", ["predict", "--model", ".", "--data", data or str(self.graphs)])
        code = 0
        try:
            command(main)
        except SystemExit as end:
            code = int(end.code or 0)
        out, err = self._capsys.readouterr()
        return code, out, err

    def stands(self, data: str = "") -> None:
        """Whatever the files are now: the same answer, or one sentence, and nothing was run."""
        code, out, err = self.predict(data)
        assert not Path(CANARY).exists()
        assert "Traceback" not in err
        if code == 0:
            assert (out, err) == self.answer[1:]
        else:
            assert (code, out) == (2, ""), err
            assert err.startswith("error: ")
            assert len(err.splitlines()) == 1


@pytest.fixture
def model(tmp_path, monkeypatch, capsys):
    return Model(tmp_path, monkeypatch, capsys)


def damaged(content: bytes, chance: random.Random) -> bytes:
    """Cut, flipped, doubled, zeroed, or with something else in it."""
    place = chance.randrange(len(content))
    length = chance.randrange(1, 200)
    ways: list[Callable[[], bytes]] = [
        lambda: content[:place],
        lambda: content[:place] + bytes([content[place] ^ (1 << chance.randrange(8))]) + content[place + 1 :],
        lambda: content[:place] + content[place + length :],
        lambda: content[:place] + chance.randbytes(length) + content[place:],
        lambda: content[:place] + bytes(length) + content[place + length :],
        lambda: content + content[place:],
        lambda: chance.randbytes(length),
    ]
    return chance.choice(ways)()


@pytest.mark.rounds(short=4, long=60)
def test_damage_anywhere_in_a_model(model, count, seed):
    chance = random.Random(seed)
    for name in (ABOUT, WEIGHTS) * 8:
        (model.folder / name).write_bytes(damaged(model.files[name], chance))
        model.stands()
        model.restore()
    count("damaged files of a stored model", 16)


STRANGE: list[Any] = [None, True, -1, 0, 10**6, 10**9, 10**30, 0.5, 1e300, "", "x" * 10**5, "../..", EVIL, "os:system"]
STRANGE += [[], {}, [[]], {"name": "lru"}, {"a": {"b": []}}, [1] * 10**5, json.loads("[" * 200 + "]" * 200)]


def places(told: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """All that a file of JSON says, by the way to it."""
    inside = told.items() if isinstance(told, dict) else enumerate(told) if isinstance(told, list) else ()
    return [path, *(deeper for key, value in inside for deeper in places(value, (*path, key)))][bool(not path) :]


def changed(told: dict[str, Any], path: tuple[Any, ...], value: Any) -> dict[str, Any]:
    made = copy.deepcopy(told)
    owner: Any = made
    for key in path[:-1]:
        owner = owner[key]
    owner[path[-1]] = value
    return made


@pytest.mark.rounds(short=2, long=20)
def test_anything_in_any_place_of_a_description_whose_checksum_fits(model, count, seed):
    """What an answer would be may follow from the change: only that it comes, or a sentence."""
    chance = random.Random(seed)
    told = {key: value for key, value in json.loads(model.files[ABOUT]).items() if key != CHECKSUM}
    ways = places(told)
    for _ in range(25):
        edited(model.folder, **changed(told, chance.choice(ways), chance.choice(STRANGE)))
        code, _, err = model.predict()
        assert code in (0, 2), err
        assert not Path(CANARY).exists()
        assert code == 0 or (err.startswith("error: ") and len(err.splitlines()) == 1), err
        model.restore()
    count("hostile descriptions of a model", 25)


HOSTILE: dict[str, dict[str, Any]] = {
    "a function of the dataset": {
        "dataset": "python_dataset",
        "dataset_settings": {"target": "builtins:exec", "arguments": {"source": EVIL}},
    },
    "a command of the dataset": {
        "dataset": "python_dataset",
        "dataset_settings": {"target": "subprocess:getoutput", "arguments": {"cmd": f"touch {CANARY}"}},
    },
    "a command of the dataset of a subset": {
        "dataset": "subset",
        "dataset_settings": {
            "file": "part.json",
            "arguments": {"target": "subprocess:getoutput", "arguments": {"cmd": f"touch {CANARY}"}},
        },
    },
    "a module beside the model": {"modules": ["evil"]},
    "a module that is no name": {"modules": ["evil; import os"]},
    "a folder of pickles": {"dataset": "zinc", "dataset_settings": {"root": "."}},
}


@pytest.mark.parametrize("what", HOSTILE)
def test_a_model_that_names_code(model, count, what):
    told = json.loads(model.files[ABOUT])["composition"]
    for composition in (told, {**told, "encoder": {"name": "evil", "settings": {}}}):
        for data in ("", HOSTILE[what].get("dataset", "")):
            if data != "zinc":  # which would be downloaded
                edited(model.folder, composition=composition, **HOSTILE[what])
                code, _, err = model.predict(data)
                assert not Path(CANARY).exists()
                assert "evil" not in sys.modules
                assert code == 0 or len(err.splitlines()) == 1, err
                count("models that name code")


@pytest.mark.parametrize("name", [ABOUT, WEIGHTS])
@pytest.mark.parametrize("kind", ["pipe", "folder", "nothing", "device", "loop", "huge", "deep", "nan"])
def test_something_else_in_the_place_of_a_file(model, count, name, kind):
    path = model.folder / name
    path.unlink()
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    elif kind == "device":
        path.symlink_to("/dev/zero")
    elif kind == "loop":
        path.symlink_to(name)
    elif kind == "huge":
        with path.open("wb") as file:
            file.truncate(10**12)
    elif kind == "deep":
        path.write_text("[" * 10**6)
    elif kind == "nan":
        path.write_bytes(model.files[name].replace(b'"K": 3', b'"K": NaN'))
        if name == WEIGHTS:
            weights = {key: value.fill_(torch.nan) for key, value in read_weights(model.files[name]).items()}
            path.write_bytes(weights_as_bytes(weights))
    code, _, err = model.predict()
    assert code == 2, err
    assert len(err.splitlines()) == 1
    count("something else in the place of a file")


@pytest.mark.rounds(short=3, long=40)
def test_a_damaged_checkpoint_is_never_used(tmp_path, count, seed, caplog):
    chance = random.Random(seed)
    weights = {"weight": torch.randn(8, 8)}
    progress = checkpoint.Progress({"seed": 0}, epoch=3)
    path = tmp_path / "checkpoint.safetensors"
    checkpoint.save(path, checkpoint.Checkpoint(weights, weights, {"weight": {"step": torch.ones(1)}}, progress))
    content = path.read_bytes()
    for _ in range(15):
        path.write_bytes(hurt := damaged(content, chance))
        found = checkpoint.load(path)
        if found is not None:  # a space in its header may have become another one
            assert torch.equal(found.model["weight"], weights["weight"])
            assert json.loads(json.dumps(found.progress.run)) == {"seed": 0}
        else:
            assert "is not used, and training starts from the beginning" in caplog.text
        assert hurt != content or found is not None
    count("damaged checkpoints", 15)


@pytest.mark.rounds(short=2, long=20)
def test_a_damaged_entry_of_the_cache_is_made_again(tmp_path, count, seed):
    chance = random.Random(seed)
    graphs = graph_folder(ten_paths(tmp_path / "own")).graphs
    prepared = prepare(graphs, [Hops(2)], folder=tmp_path / "cache", progress=False)
    expected = copy.deepcopy([graph.to_dict() for graph in prepared])  # not views of the files
    files = [path for path in (tmp_path / "cache").rglob("*") if path.is_file() and path.stat().st_size]
    for path in (chance.choice(files) for _ in range(10)):
        if path.is_file():  # its entry may have been made again, without it
            path.write_bytes(damaged(path.read_bytes(), chance) or b"x")
        found = [graph.to_dict() for graph in prepare(graphs, [Hops(2)], folder=tmp_path / "cache", progress=False)]
        for one, other in zip(found, expected, strict=True):
            assert all(torch.equal(torch.as_tensor(one[key]), torch.as_tensor(other[key])) for key in other)
    count("damaged entries of the cache", 10)


@pytest.mark.parametrize("dtype", ["|O", "<f8", "nonsense", [], 7])
def test_a_cache_that_lies_with_a_checksum_that_fits(tmp_path, count, dtype):
    import xxhash

    graphs = graph_folder(ten_paths(tmp_path / "own")).graphs
    expected = prepare(graphs, [Hops(2)], folder=tmp_path / "cache", progress=False)
    meta = next((tmp_path / "cache").rglob(META))
    told = json.loads(meta.read_bytes().partition(b"\n")[2])
    for column in told["columns"].values():
        column["dtype"] = dtype
    text = json.dumps(told).encode()
    meta.write_bytes(xxhash.xxh3_64_hexdigest(text).encode() + b"\n" + text)
    found = prepare(graphs, [Hops(2)], folder=tmp_path / "cache", progress=False)
    assert [graph.num_nodes for graph in found] == [graph.num_nodes for graph in expected]
    count("hostile entries of the cache")
