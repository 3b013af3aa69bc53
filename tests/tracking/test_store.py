import pytest

from gredkit.errors import UserError
from gredkit.tracking.store import existing_store, shown, tracking_uri


def test_the_address_given_then_the_environment_then_this_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://somewhere")
    assert tracking_uri("sqlite:////a.db") == "sqlite:////a.db"
    assert tracking_uri(None) == "http://somewhere"
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "")
    assert tracking_uri() == f"sqlite:///{tmp_path}/mlflow.db"
    assert tracking_uri("sqlite:///runs.db") == f"sqlite:///{tmp_path}/runs.db"


def test_a_store_that_is_there(tmp_path):
    (tmp_path / "some runs.db").touch()
    for uri in (
        f"sqlite:///{tmp_path}/some runs.db",
        f"sqlite:///{tmp_path}/some%20runs.db?timeout=3",
        "https://somewhere:5000",
        "postgresql+psycopg2://me@somewhere/runs",
    ):
        assert existing_store(uri) == uri


def test_a_store_that_is_not_there():
    with pytest.raises(UserError, match=r"there is no database /no/where\.db: go to the folder of the study"):
        existing_store("sqlite:////no/where.db")


@pytest.mark.parametrize("uri", ["file:///some/runs", "mlruns", "./mlruns"])
def test_a_folder_is_no_store(uri):
    with pytest.raises(UserError, match=r"use sqlite:///PATH"):
        tracking_uri(uri)


def test_passwords_are_not_printed():
    assert shown("postgresql://me:secret@somewhere/runs") == "postgresql://somewhere/runs"
