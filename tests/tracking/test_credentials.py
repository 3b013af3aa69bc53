"""Commands that are given an address with a secret: nothing that they print or write has it."""

import socket

import pytest
from helpers.commands import Command, fails_with_a_sentence, run
from helpers.studies import WITHOUT_AXES, TinyStudy

SECRET, ENCODED = "hush/hush?7", "hush%2Fhush%3F7"
ONE = f"{WITHOUT_AXES}SEEDS = (0,)\n"


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def holds_secret(text: str) -> bool:
    return SECRET in text or ENCODED in text


def files_with_secret(folder):
    """Names count, too."""
    written = [path for path in folder.rglob("*") if path.is_file()]
    secrets = (SECRET.encode(), ENCODED.encode())
    return [path for path in written if holds_secret(str(path)) or any(s in path.read_bytes() for s in secrets)]


def test_a_query_with_a_password_is_in_no_file_and_no_line(tmp_path, monkeypatch):
    """`timeout` stands for it: a parameter that SQLite takes."""
    monkeypatch.setattr("test_credentials.SECRET", "7.0625")
    monkeypatch.setattr("test_credentials.ENCODED", "7%2E0625")
    study = TinyStudy(tmp_path, ONE)
    uri = f"sqlite:///{tmp_path}/mlflow.db?timeout=7.0625"
    result = study.run("--tracking-uri", uri, "--set", "EPOCHS=1")
    assert result.returncode == 0, result.stderr
    assert f"mlflow ui --backend-store-uri sqlite:///{tmp_path}/mlflow.db\n" in result.stdout
    monkeypatch.setenv("MLFLOW_TRACKING_URI", uri)
    again = run("-m", "gredkit.report", "--study", "tiny", cwd=tmp_path)
    assert again.returncode == 0, again.stderr
    assert not any(map(holds_secret, (result.stdout, result.stderr, again.stdout, again.stderr)))
    assert (tmp_path / "reports/tiny/index.html").is_file()
    assert files_with_secret(tmp_path) == []


@pytest.mark.parametrize(
    "address",
    [
        "http://me:{}@127.0.0.1:{port}",
        "http://me:{}@127.0.0.1:{port}/?token={}",
        "https://{}@127.0.0.1:{port}",
        "http://me:{}@127.0.0.1:1{port}",  # no such port
        "postgresql://me:{}@127.0.0.1:{port}/runs",
        "nonsense://me:{}@127.0.0.1/runs?password={}",
        "me:{}@127.0.0.1",
        "sqlite:////no/where/at/all.db?password={}",
    ],
)
@pytest.mark.parametrize("written", [SECRET, ENCODED])
def test_a_store_that_does_not_answer_is_named_without_them(tmp_path, monkeypatch, address, written):
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    uri = address.format(written, written, port=free_port())
    commands = {
        "run": Command(["-m", "gredkit.predict", "--run", "abc", "--data", "digits", "--tracking-uri", uri], tmp_path),
        "report": Command(["-m", "gredkit.report", "--study", "tiny", f"--tracking-uri={uri}"], tmp_path),
    }
    for command in commands.values():
        out, err = command.communicate(timeout=120)
        assert command.returncode in (1, 2), err  # a server that is away, an address that is wrong
        assert not holds_secret(out + err), err
        assert len(err.splitlines()) == 1
    assert files_with_secret(tmp_path) == []


def test_an_address_with_a_space_is_not_repeated(tmp_path):
    said = fails_with_a_sentence(
        run("-m", "gredkit.report", "--study", "tiny", "--tracking-uri", "http://me:hush hush@somewhere", cwd=tmp_path)
    )
    assert "hush" not in said
    assert "%20" in said
