"""What happens when the raw files are not there: with a network, and without."""

import json
import shutil
import socket
import zipfile
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from filelock import FileLock
from helpers.commands import fails_with_a_sentence, run
from helpers.raw_files import WRITERS
from torch_geometric.datasets import ZINC, GNNBenchmarkDataset, LRGBDataset, TUDataset

from gredkit.errors import UserError
from gredkit.registry import DATASETS

NAMES = [name for name in WRITERS if name not in ("lrgb", "tu")]

# Opens all benchmarks named, and says for each how many graphs it has or what is wrong.
OPEN = """
import json, sys
from gredkit.errors import UserError
from gredkit.registry import DATASETS

def opened(name):
    try:
        return len(DATASETS[name](root=sys.argv[1]).graphs)
    except UserError as error:
        return str(error)

print(json.dumps({name: opened(name) for name in sys.argv[2:]}))
"""


@pytest.fixture
def offline(monkeypatch: pytest.MonkeyPatch) -> None:
    """Send all downloads, of this process and of those it starts, to a port where nobody listens."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        dead = f"http://127.0.0.1:{free.getsockname()[1]}"
    for variable in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"):
        monkeypatch.setenv(variable, dead)
    for variable in ("no_proxy", "NO_PROXY"):
        monkeypatch.delenv(variable, raising=False)
    # TU datasets come through fsspec, which only heeds these variables if it was told so before its import.
    monkeypatch.setenv("FSSPEC_HTTPS", json.dumps({"client_kwargs": {"trust_env": True}}))
    monkeypatch.setattr(TUDataset, "url", dead)


def open_in_a_process(root: Path, monkeypatch: pytest.MonkeyPatch, fresh: bool = False) -> dict[str, str | int]:
    monkeypatch.delenv("PYTEST_CURRENT_TEST", raising=False)  # which silences PyG
    result = run("-c", OPEN, str(root), *NAMES, fresh=fresh)
    assert result.returncode == 0, result.stderr
    assert result.stderr == ""
    return json.loads(result.stdout)


def files_under(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file() and path.suffix != ".lock"}


@pytest.mark.usefixtures("offline")
def test_without_network_and_files_a_sentence_says_what_to_put_where(tmp_path, monkeypatch):
    root, elsewhere = tmp_path / "data", tmp_path / "elsewhere"
    written = {name: WRITERS[name](elsewhere) for name in NAMES}
    said = open_in_a_process(root, monkeypatch, fresh=True)  # whose fsspec has heard of the proxy
    needed = {path for path in files_under(elsewhere) if "node_labels" not in path.name}
    for name in NAMES:
        sentence = said[name]
        assert isinstance(sentence, str)
        assert "\n" not in sentence
        assert "cannot be downloaded" in sentence
        assert "try again with a network" in sentence
    for path in needed:
        folder = root / path.relative_to(elsewhere).parent
        (sentence,) = [str(s) for s in said.values() if f"into {folder}," in str(s)]
        assert path.name in sentence
    assert files_under(root) == {}

    shutil.copytree(elsewhere, root, dirs_exist_ok=True)
    assert open_in_a_process(root, monkeypatch) == {name: len(graphs) for name, graphs in written.items()}


@pytest.mark.usefixtures("offline")
def test_the_command_ends_in_that_sentence(tmp_path, monkeypatch):
    monkeypatch.setenv("GREDKIT_DATA", str(tmp_path))
    code = "from gredkit.data.datasets.zinc import zinc; from gredkit.errors import command; command(zinc)"
    line = fails_with_a_sentence(run("-c", code))
    assert f"put train.pickle, val.pickle, test.pickle, train.index, val.index, test.index into {tmp_path}" in line


@pytest.mark.usefixtures("offline")
@pytest.mark.parametrize("name", ["zinc", "peptides_func", "nci1"])
def test_files_that_are_there_stay_when_others_are_missing(name, tmp_path):
    WRITERS[name](tmp_path)
    required = [path for path in files_under(tmp_path) if "node_labels" not in path.name]
    content = required[0].read_bytes()
    required[0].unlink()
    before = files_under(tmp_path)
    with pytest.raises(UserError, match=f"put {required[0].name}") as error:
        DATASETS[name](root=str(tmp_path))
    assert required[1].name not in str(error.value)
    assert files_under(tmp_path) == before
    required[0].write_bytes(content)
    assert len(DATASETS[name](root=str(tmp_path)).graphs) > 0


@pytest.mark.usefixtures("offline")
def test_one_prepares_and_the_others_wait(tmp_path):
    with ThreadPoolExecutor(1) as pool:
        with FileLock(tmp_path / ".ZINC.lock"):  # as one does who prepares
            other = pool.submit(DATASETS["zinc"], root=str(tmp_path))
            wait([other], timeout=1)  # one that did not wait would have failed by now
            written = WRITERS["zinc"](tmp_path)
        assert len(other.result(timeout=60).graphs) == len(written)


@pytest.fixture
def served(tmp_path: Path) -> Iterator[tuple[Path, str]]:
    """A folder, and the address of a server that serves it."""
    folder = tmp_path / "served"
    folder.mkdir()

    class Handler(SimpleHTTPRequestHandler):
        def log_message(self, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=str(folder)))
    thread = Thread(target=server.serve_forever)
    thread.start()
    yield folder, f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def publish(name: str, served: tuple[Path, str], scratch: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Put the archive of a benchmark on the server, as its authors pack it, and send PyG there."""
    folder, address = served
    WRITERS[name](scratch)
    (raw,) = scratch.glob("*/raw")
    files = sorted(raw.iterdir())
    if name == "zinc":
        monkeypatch.setattr(ZINC, "url", f"{address}/molecules.zip?dl=1")
        monkeypatch.setattr(ZINC, "split_url", address + "/{}.index")
        for split in ("train", "val", "test"):
            shutil.copy(raw / f"{split}.index", folder)
        return pack(folder / "molecules.zip", [file for file in files if file.suffix == ".pickle"], "molecules/")
    if name == "mnist":
        monkeypatch.setitem(GNNBenchmarkDataset.urls, "MNIST", f"{address}/MNIST_v2.zip")
        return pack(folder / "MNIST_v2.zip", files)
    if name == "peptides_func":
        monkeypatch.setitem(LRGBDataset.urls, "peptides-func", f"{address}/peptidesfunc.zip?dl=1")
        return pack(folder / "peptidesfunc.zip", files, "peptidesfunc/")
    monkeypatch.setattr(TUDataset, "url", address)
    monkeypatch.setenv("PYG_HOME", str(scratch / "pyg"))  # where PyG keeps the archive for a while
    return pack(folder / "NCI1.zip", files, "NCI1/")


def pack(archive: Path, files: Iterable[Path], inside: str = "") -> Path:
    with zipfile.ZipFile(archive, "w") as packed:
        for file in files:
            packed.write(file, inside + file.name)
    return archive


@pytest.mark.parametrize("name", ["zinc", "mnist", "peptides_func", "nci1"])
def test_pyg_downloads_once_and_a_broken_download_leaves_nothing(name, served, tmp_path, monkeypatch):
    monkeypatch.setenv("no_proxy", "*")
    archive = publish(name, served, tmp_path / "scratch", monkeypatch)
    root = tmp_path / "data"
    whole = archive.read_bytes()
    archive.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(UserError, match=r"cannot be downloaded .*: put .* into ") as error:
        DATASETS[name](root=str(root))
    assert "\n" not in str(error.value)
    assert files_under(root) == {}

    archive.write_bytes(whole)
    there = len(DATASETS[name](root=str(root)).graphs)
    (raw,) = (tmp_path / "scratch").glob("*/raw")
    (found,) = root.glob("*/raw")
    assert {file.name: file.read_bytes() for file in found.iterdir()} == {
        file.name: file.read_bytes() for file in raw.iterdir()
    }
    archive.unlink()
    assert len(DATASETS[name](root=str(root)).graphs) == there > 0
    assert [path.name for path in root.iterdir() if path.suffix != ".lock"] == [found.parent.name]
