import pytest

from gredkit.errors import UserError
from gredkit.tracking_uri import existing_store, shown, tracking_uri


def test_the_address_given_then_the_environment_then_this_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://somewhere")
    assert tracking_uri("sqlite:////a.db") == "sqlite:////a.db"
    assert tracking_uri(None) == "http://somewhere"
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "")
    assert tracking_uri() == f"sqlite:///{tmp_path}/mlflow.db"


def test_a_store_that_is_there(tmp_path):
    (tmp_path / "some runs.db").touch()
    for uri in (
        f"sqlite:///{tmp_path}/some runs.db",
        f"sqlite:///{tmp_path}/some%20runs.db?timeout=3",
        f"file://{tmp_path}",
        str(tmp_path),
        "https://somewhere:5000",
        "postgresql+psycopg2://me@somewhere/runs",
    ):
        assert existing_store(uri) == uri


@pytest.mark.parametrize(
    ("uri", "sentence"),
    [
        (
            "sqlite:///runs.db",
            "sqlite:///runs.db depends on the working folder: give the whole path, as in sqlite:////",
        ),
        ("sqlite:////no/where.db", "there is no database /no/where.db: say where the runs are, with --tracking-uri"),
        ("file:///no/where", "there is no folder of runs /no/where: say where"),
        ("mlruns-of-nobody", "there is no folder of runs mlruns-of-nobody: say where"),
    ],
)
def test_a_store_that_is_not_there(uri, sentence):
    with pytest.raises(UserError) as caught:
        existing_store(uri)
    assert str(caught.value).startswith(sentence)


def test_passwords_are_not_printed():
    assert shown("postgresql://me:secret@somewhere/runs") == "postgresql://somewhere/runs"
